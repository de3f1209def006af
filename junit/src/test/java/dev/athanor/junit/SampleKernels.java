package dev.athanor.junit;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.sharedInts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.lift.GpuKernel;

/** Correct and faulty kernels. */
final class SampleKernels {
  private SampleKernels() {}

  @GpuKernel(blockSize = 64)
  static void saxpy(float[] x, float[] y, float alpha, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      y[i] = Math.fma(alpha, x[i], y[i]);
    }
  }

  /** Threads of different warps exchange elements without a barrier. */
  @GpuKernel(blockSize = 64)
  static void reverse(int[] data) {
    int[] tile = sharedInts(64);
    int i = threadIdxX();
    tile[i] = data[i];
    data[i] = tile[63 - i];
  }

  /** The last thread accesses one element past the end. */
  @GpuKernel(blockSize = 64)
  static void shift(int[] data) {
    data[threadIdxX() + 1] = 0;
  }
}
