/**
 * Ops whose kernels are static Java methods with {@code @GpuKernel}: {@link
 * dev.athanor.ops.lift.KernelOp#named} describes one.
 */
@NullMarked
package dev.athanor.ops.lift;

import org.jspecify.annotations.NullMarked;
