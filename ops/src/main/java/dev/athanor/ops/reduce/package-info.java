/** Reductions along a dimension. */
@NullMarked
package dev.athanor.ops.reduce;

import org.jspecify.annotations.NullMarked;
