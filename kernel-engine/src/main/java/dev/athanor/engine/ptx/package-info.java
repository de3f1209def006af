/**
 * PTX as data: types, operands, the instruction table, kernels and modules; its text and its rules.
 */
@NullMarked
package dev.athanor.engine.ptx;

import org.jspecify.annotations.NullMarked;
