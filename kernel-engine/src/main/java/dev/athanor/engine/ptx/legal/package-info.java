/** Rewriting of kernels for targets that lack some of their instructions. */
@NullMarked
package dev.athanor.engine.ptx.legal;

import org.jspecify.annotations.NullMarked;
