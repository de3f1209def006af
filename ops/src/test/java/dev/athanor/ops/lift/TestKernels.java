package dev.athanor.ops.lift;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.dynamicSharedFloats;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.warpSum;

import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;

/** Kernels for tests of their descriptions. */
final class TestKernels {

  private TestKernels() {}

  @GpuKernel(blockSize = 128)
  static void affine(float[] x, float[] weight, float[] y, float shift, int columns) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < y.length) {
      y[i] = x[i] * weight[i % columns] + shift;
    }
  }

  @GpuKernel(blockSize = 64)
  static void select(
      long[] x, long[] y, boolean[] parity, boolean negate, int mode, long constant, int small) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < x.length) {
      long value = mode == 1 ? constant : x[i];
      y[i] = (negate ? -value : value) + small;
      parity[i] = (x[i] & 1) == 1;
    }
  }

  @GpuKernel(blockSize = 64)
  static void addBias(float[] x, float[] bias, float[] y, int columns) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < y.length) {
      y[i] = x[i] + (bias.length > 0 ? bias[i % columns] : 1);
    }
  }

  @GpuKernel(blockSize = 64)
  static void doubleChosen(int[] rows, float[] y, int columns) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < y.length && rows[i / columns] % 2 != 0) {
      y[i] *= 2;
    }
  }

  @GpuKernel
  static void copy(float[] x, float[] y) {
    y[threadIdxX()] = x[threadIdxX()];
  }

  @GpuKernel(blockSize = 32)
  static void copyHalves(short[] x, short[] y) {
    y[threadIdxX()] = x[threadIdxX()];
  }

  @GpuKernel(blockSize = 64)
  static void squareFloats(float[] x, float[] y) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < x.length) {
      y[i] = x[i] * x[i];
    }
  }

  @GpuKernel(blockSize = 64)
  static void squareHalves(short[] x, short[] y) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < x.length) {
      float value = Float.float16ToFloat(x[i]);
      y[i] = Float.floatToFloat16(value * value);
    }
  }

  @GpuKernel(blockSize = 64)
  static void squareBfloats(short[] x, short[] y) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (i < x.length) {
      float value = Gpu.bfloat16ToFloat(x[i]);
      y[i] = Gpu.floatToBfloat16(value * value);
    }
  }

  @GpuKernel(blockSize = 32)
  static void partialFloats(float[] x, float[] partial, float scale) {
    int i = blockIdxX() * 64 + threadIdxX();
    float sum = (i < x.length ? x[i] : 0) + (i + 32 < x.length ? x[i + 32] : 0);
    sum = warpSum(sum);
    if (threadIdxX() == 0 && blockIdxX() < partial.length) {
      partial[blockIdxX()] = scale * sum;
    }
  }

  @GpuKernel(blockSize = 32)
  static void partialDoubles(double[] x, double[] partial, double scale) {
    int i = blockIdxX() * 64 + threadIdxX();
    double sum = (i < x.length ? x[i] : 0) + (i + 32 < x.length ? x[i + 32] : 0);
    sum = warpSum(sum);
    if (threadIdxX() == 0 && blockIdxX() < partial.length) {
      partial[blockIdxX()] = scale * sum;
    }
  }

  @GpuKernel
  static void totalFloats(float[] partial, float[] y, int parts) {
    float sum = 0;
    for (int i = threadIdxX(); i < parts; i += blockDimX()) {
      sum += partial[i];
    }
    sum = warpSum(sum);
    if (threadIdxX() == 0) {
      y[0] = sum;
    }
  }

  @GpuKernel
  static void totalDoubles(double[] partial, double[] y, int parts) {
    double sum = 0;
    for (int i = threadIdxX(); i < parts; i += blockDimX()) {
      sum += partial[i];
    }
    sum = warpSum(sum);
    if (threadIdxX() == 0) {
      y[0] = sum;
    }
  }

  @GpuKernel(blockSize = 64)
  static void sumParts(float[] x, double[] sums) {
    int part = blockIdxX() * blockDimX() + threadIdxX();
    if (part < sums.length) {
      double sum = 0;
      for (int i = part * 64; i < Math.min(x.length, part * 64 + 64); i++) {
        sum += x[i];
      }
      sums[part] = sum;
    }
  }

  /** Replaces the sum of each part by that of all parts before it. */
  @GpuKernel(blockSize = 1)
  static void scanParts(float[] first, double[] sums) {
    double before = first.length > 0 ? first[0] : 0;
    for (int i = 0; i < sums.length; i++) {
      double sum = sums[i];
      sums[i] = before;
      before += sum;
    }
  }

  @GpuKernel(blockSize = 1)
  static void scanElements(double[] sums, float[] y) {
    double sum = sums[blockIdxX()];
    for (int i = blockIdxX() * 64; i < Math.min(y.length, blockIdxX() * 64 + 64); i++) {
      sum += y[i];
      y[i] = (float) sum;
    }
  }

  @GpuKernel(blockSize = 32)
  static void idle(short[] x) {}

  @GpuKernel(blockSize = 32)
  static void swap(int[] x, int[] y) {
    int mine = x[threadIdxX()];
    x[threadIdxX()] = y[threadIdxX()];
    y[threadIdxX()] = mine;
  }

  @GpuKernel(blockSize = 32)
  static void waits(float[] x, float[] y) {
    y[blockIdxX()] = x[blockIdxX()];
    Gpu.gridBarrier();
  }

  @GpuKernel(blockSize = 32)
  static void prints(float[] x, float[] y) {
    y[threadIdxX()] = x[threadIdxX()];
    Gpu.print("%d%n", threadIdxX());
  }

  @GpuKernel(blockSize = 32)
  static void shared(float[] x, float[] y) {
    var tile = dynamicSharedFloats();
    tile[threadIdxX()] = x[threadIdxX()];
    y[threadIdxX()] = tile[threadIdxX()];
  }

  @GpuKernel(blockSize = 32)
  static void allocates(float[] x, float[] y) {
    y[0] = new float[x.length].length;
  }
}
