/** Elementwise functions, and what moves, picks or sums elements. */
@NullMarked
package dev.athanor.ops.elementwise;

import org.jspecify.annotations.NullMarked;
