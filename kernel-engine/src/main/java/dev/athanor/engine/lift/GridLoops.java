package dev.athanor.engine.lift;

import java.util.function.IntConsumer;
import java.util.function.IntToDoubleFunction;

/**
 * Kernels that call a function for each index, whatever the number of blocks; and the barrier of a
 * grid, written as kernel code.
 */
final class GridLoops {
  static final int BLOCK = 256;

  /** The element of the workspace that counts arrivals; its top bit changes when all have come. */
  private static final int ARRIVALS = 1;

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

  /**
   * The barrier of CUDA's cooperative groups. The first block adds what the arrivals of the others
   * lack to 2^31, so that the top bit changes when the last has come.
   */
  static void gridBarrier() {
    Gpu.barrier();
    if ((Gpu.threadIdxX() | Gpu.threadIdxY() | Gpu.threadIdxZ()) == 0) {
      int[] workspace = gridWorkspace();
      int others = Gpu.gridDimX() * Gpu.gridDimY() * Gpu.gridDimZ() - 1;
      boolean isFirst = (Gpu.blockIdxX() | Gpu.blockIdxY() | Gpu.blockIdxZ()) == 0;
      Gpu.memoryFence();
      int before = Gpu.atomicAdd(workspace, ARRIVALS, isFirst ? Integer.MIN_VALUE - others : 1);
      boolean waits = true;
      while (waits) {
        waits = (before ^ Gpu.loadAcquire(workspace, ARRIVALS)) >= 0;
      }
      Gpu.memoryFence();
    }
    Gpu.barrier();
  }

  /**
   * Returns two words that the driver reserves for a cooperative launch: its size, and arrivals.
   */
  private static int[] gridWorkspace() {
    throw new IllegalStateException("only a device has the workspace of a cooperative launch");
  }
}
