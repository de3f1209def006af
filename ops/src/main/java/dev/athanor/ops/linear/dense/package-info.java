/** Products of dense matrices: floating-point and int8, forward and backward. */
@NullMarked
package dev.athanor.ops.linear.dense;

import org.jspecify.annotations.NullMarked;
