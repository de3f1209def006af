/** PTX as data: types, operands, instructions, kernels and modules. */
@NullMarked
package dev.athanor.engine.ptx;

import org.jspecify.annotations.NullMarked;
