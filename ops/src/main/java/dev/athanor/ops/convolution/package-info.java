/** Convolution and pooling: ops whose elements depend on a window of the input. */
@NullMarked
package dev.athanor.ops.convolution;

import org.jspecify.annotations.NullMarked;
