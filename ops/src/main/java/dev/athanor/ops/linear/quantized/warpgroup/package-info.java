/**
 * Products of 16-bit rows and packed weights on the tensor cores of Hopper: warpgroups decode the
 * weights to registers, from which {@code wgmma} multiplies them.
 */
@NullMarked
package dev.athanor.ops.linear.quantized.warpgroup;

import org.jspecify.annotations.NullMarked;
