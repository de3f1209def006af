/** Matrix products of f32 and f64 without a tensor-core pipeline. */
@NullMarked
package dev.athanor.ops.linear.simt;

import org.jspecify.annotations.NullMarked;
