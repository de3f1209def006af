package com.example;

import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.sharedShorts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.warpId;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.AsyncCopy;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.engine.lift.WarpMatrix;
import java.util.SplittableRandom;

/**
 * Multiplies half-precision matrices on tensor cores. Each of the four warps of a block computes 16
 * rows and 16 columns of a tile of 32 by 32.
 */
public final class TensorCoreProduct {
  private static final int TILE = 32;

  /** Elements from one row in shared memory to the next; 8 more than a row avoid bank conflicts. */
  private static final int STRIDE = TILE + 8;

  private static final int STAGE = TILE * STRIDE;

  private TensorCoreProduct() {}

  /** Computes {@code c = a · b}. All extents are multiples of {@link #TILE}. */
  @GpuKernel(blockSize = 128)
  static void product(short[] a, short[] b, float[] c, int n, int depth) {
    short[] tilesOfA = sharedShorts(2 * STAGE);
    short[] tilesOfB = sharedShorts(2 * STAGE);
    int row = blockIdxY() * TILE;
    int column = blockIdxX() * TILE;
    int warpRow = warpId() / 2 * 16;
    int warpColumn = warpId() % 2 * 16;
    var left = WarpMatrix.zero();
    var right = WarpMatrix.zero();
    copyTile(tilesOfA, 0, a, row * depth, depth);
    copyTile(tilesOfB, 0, b, column, n);
    AsyncCopy.commit();
    for (int k = 0; k < depth; k += TILE) {
      int stage = k / TILE % 2 * STAGE;
      int next = k + TILE;
      if (next < depth) {
        copyTile(tilesOfA, STAGE - stage, a, row * depth + next, depth);
        copyTile(tilesOfB, STAGE - stage, b, next * n + column, n);
      }
      AsyncCopy.commit();
      AsyncCopy.await(1); // the tiles of this round, not the next ones
      barrier();
      for (int i = 0; i < TILE; i += 16) {
        var x = WarpMatrix.loadA(tilesOfA, stage + warpRow * STRIDE + i, STRIDE);
        int start = stage + i * STRIDE + warpColumn;
        left = WarpMatrix.multiplyHalf(x, WarpMatrix.loadB(tilesOfB, start, STRIDE), left);
        right = WarpMatrix.multiplyHalf(x, WarpMatrix.loadB(tilesOfB, start + 8, STRIDE), right);
      }
      barrier(); // before the next round overwrites these tiles
    }
    int first = (row + warpRow) * n + column + warpColumn;
    WarpMatrix.store(left, c, first, n);
    WarpMatrix.store(right, c, first + 8, n);
  }

  /** Starts the copy of a tile; each thread copies eight elements. */
  private static void copyTile(short[] tile, int stage, short[] matrix, int start, int columns) {
    int y = threadIdxX() / 4;
    int x = threadIdxX() % 4 * 8;
    AsyncCopy.copy(tile, stage + y * STRIDE + x, matrix, start + y * columns + x);
  }

  public static void main(String[] arguments) {
    int m = 64;
    int n = 96;
    int depth = 160;
    var a = random(m * depth, 1);
    var b = random(depth * n, 2);
    var c = new float[m * n];
    var grid = Dim3.of(n / TILE, m / TILE);
    try (var device = Devices.open("auto").device()) {
      Kernels.of(TensorCoreProduct::product).on(device).launch(grid, a, b, c, n, depth);
      double worst = 0;
      for (int i = 0; i < m * n; i++) {
        double exact = 0;
        for (int k = 0; k < depth; k++) {
          exact +=
              (double) Float.float16ToFloat(a[i / n * depth + k])
                  * Float.float16ToFloat(b[k * n + i % n]);
        }
        worst = Math.max(worst, Math.abs(c[i] - exact));
      }
      if (worst > 1e-3) {
        throw new AssertionError("the largest error is " + worst);
      }
      System.out.printf(
          "tensor-core-product: [%d, %d] times [%d, %d], largest error %.1e, on %s%n",
          m, depth, depth, n, worst, device.capability().name());
    }
  }

  private static short[] random(int n, long seed) {
    var random = new SplittableRandom(seed);
    var values = new short[n];
    for (int i = 0; i < n; i++) {
      values[i] = Float.floatToFloat16((float) random.nextGaussian());
    }
    return values;
  }
}
