package dev.athanor.engine.lift;

import java.util.function.IntConsumer;
import java.util.function.IntToDoubleFunction;

/** Kernels that call a function for each index, whatever the number of blocks. */
final class GridLoops {
  static final int BLOCK = 256;

  private GridLoops() {}

  @GpuKernel(blockSize = BLOCK)
  static void forEach(int n, IntConsumer body) {
    Gpu.forEach(n, body);
  }

  /** Adds up the results of the indices of each block. */
  @GpuKernel(blockSize = BLOCK)
  static void sum(int n, double[] ofBlocks, IntToDoubleFunction term) {
    double sum = 0;
    long step = (long) Gpu.gridDimX() * Gpu.blockDimX();
    for (long i = Gpu.threadIdxX() + (long) Gpu.blockIdxX() * Gpu.blockDimX(); i < n; i += step) {
      sum += term.applyAsDouble((int) i);
    }
    sum = Gpu.blockSum(sum);
    if (Gpu.threadIdxX() == 0) {
      ofBlocks[Gpu.blockIdxX()] = sum;
    }
  }
}
