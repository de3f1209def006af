package com.example;

import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.sharedFloats;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxY;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.util.SplittableRandom;

/** Multiplies matrices in tiles of 16 by 16 in shared memory. */
public final class TiledProduct {
  private static final int TILE = 16;

  private TiledProduct() {}

  @GpuKernel(blockSize = {TILE, TILE})
  static void product(float[] a, float[] b, float[] c, int m, int n, int depth) {
    float[] tileA = sharedFloats(TILE * TILE);
    float[] tileB = sharedFloats(TILE * TILE);
    int x = threadIdxX();
    int y = threadIdxY();
    int row = blockIdxY() * TILE + y;
    int column = blockIdxX() * TILE + x;
    float sum = 0;
    for (int k = 0; k < depth; k += TILE) {
      tileA[y * TILE + x] = row < m && k + x < depth ? a[row * depth + k + x] : 0;
      tileB[y * TILE + x] = k + y < depth && column < n ? b[(k + y) * n + column] : 0;
      barrier();
      for (int i = 0; i < TILE; i++) {
        sum = Math.fma(tileA[y * TILE + i], tileB[i * TILE + x], sum);
      }
      barrier();
    }
    if (row < m && column < n) {
      c[row * n + column] = sum;
    }
  }

  public static void main(String[] arguments) {
    int m = 50;
    int n = 70;
    int depth = 40;
    var a = random(m * depth, 1);
    var b = random(depth * n, 2);
    var c = new float[m * n];
    var grid = Dim3.of(Math.ceilDiv(n, TILE), Math.ceilDiv(m, TILE));
    try (var device = Devices.open("auto").device()) {
      Kernels.of(TiledProduct::product).on(device).launch(grid, a, b, c, m, n, depth);
      double worst = 0;
      for (int i = 0; i < m * n; i++) {
        double exact = 0;
        for (int k = 0; k < depth; k++) {
          exact += (double) a[i / n * depth + k] * b[k * n + i % n];
        }
        worst = Math.max(worst, Math.abs(c[i] - exact));
      }
      if (worst > 1e-4) {
        throw new AssertionError("the largest error is " + worst);
      }
      System.out.printf(
          "tiled-product: [%d, %d] times [%d, %d], largest error %.1e, on %s%n",
          m, depth, depth, n, worst, device.capability().name());
    }
  }

  private static float[] random(int n, long seed) {
    var random = new SplittableRandom(seed);
    var values = new float[n];
    for (int i = 0; i < n; i++) {
      values[i] = (float) random.nextGaussian();
    }
    return values;
  }
}
