package dev.athanor.ops.lift;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.dynamicSharedFloats;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

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
  static void swap(int[] x, int[] y) {
    int mine = x[threadIdxX()];
    x[threadIdxX()] = y[threadIdxX()];
    y[threadIdxX()] = mine;
  }

  @GpuKernel(blockSize = 32)
  static void shared(float[] x, float[] y) {
    var tile = dynamicSharedFloats();
    tile[threadIdxX()] = x[threadIdxX()];
    y[threadIdxX()] = tile[threadIdxX()];
  }

  @GpuKernel(blockSize = 32)
  static void allocates(float[] x, float[] y) {
    y[0] = new float[] {x[0]}[0];
  }
}
