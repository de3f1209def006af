/** Products of a matrix and a vector. */
@NullMarked
package dev.athanor.ops.linear.gemv;

import org.jspecify.annotations.NullMarked;
