package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockSum;
import static dev.athanor.engine.lift.Gpu.rsqrt;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.util.SplittableRandom;

/** Computes {@code y = x / sqrt(mean(x^2) + epsilon) * weight} for each row. */
public final class RmsNorm {

  private RmsNorm() {}

  @GpuKernel(blockSize = 128)
  static void rmsNorm(float[] x, float[] weight, float[] y, int columns, float epsilon) {
    int row = blockIdxX() * columns;
    float sum = 0;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      float value = x[row + i];
      sum = Math.fma(value, value, sum);
    }
    float scale = rsqrt(blockSum(sum) / columns + epsilon);
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      y[row + i] = x[row + i] * scale * weight[i];
    }
  }

  public static void main(String[] arguments) {
    int rows = 8;
    int columns = 1000;
    double epsilon = 1e-5;
    var random = new SplittableRandom(1);
    var x = new float[rows * columns];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) random.nextGaussian();
    }
    var weight = new float[columns];
    for (int i = 0; i < columns; i++) {
      weight[i] = 1 + i % 3;
    }
    var y = new float[x.length];
    try (var device = Devices.open("auto").device()) {
      Kernels.of(RmsNorm::rmsNorm)
          .on(device)
          .launch(rows, x, weight, y, columns, (float) epsilon);
      double worst = 0;
      for (int row = 0; row < rows; row++) {
        double squares = 0;
        for (int i = 0; i < columns; i++) {
          squares += (double) x[row * columns + i] * x[row * columns + i];
        }
        double scale = 1 / Math.sqrt(squares / columns + epsilon);
        for (int i = 0; i < columns; i++) {
          double exact = x[row * columns + i] * scale * weight[i];
          worst = Math.max(worst, Math.abs(y[row * columns + i] - exact));
        }
      }
      if (worst > 1e-5) {
        throw new AssertionError("the largest error is " + worst);
      }
      System.out.printf(
          "rms-norm: %d rows of %d, largest error %.1e, on %s%n",
          rows, columns, worst, device.capability().name());
    }
  }
}
