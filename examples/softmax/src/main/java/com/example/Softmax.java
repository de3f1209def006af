package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockMax;
import static dev.athanor.engine.lift.Gpu.blockSum;
import static dev.athanor.engine.lift.Gpu.fastExp;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.util.SplittableRandom;

/** Computes the softmax of each row. */
public final class Softmax {

  private Softmax() {}

  @GpuKernel(blockSize = 128)
  static void softmax(float[] x, float[] y, int columns) {
    int row = blockIdxX() * columns;
    float largest = Float.NEGATIVE_INFINITY;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      largest = Math.max(largest, x[row + i]);
    }
    largest = blockMax(largest);
    float sum = 0;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      sum += fastExp(x[row + i] - largest);
    }
    sum = blockSum(sum);
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      y[row + i] = fastExp(x[row + i] - largest) / sum;
    }
  }

  public static void main(String[] arguments) {
    int rows = 8;
    int columns = 1000;
    var random = new SplittableRandom(1);
    var x = new float[rows * columns];
    for (int i = 0; i < x.length; i++) {
      x[i] = (float) (4 * random.nextGaussian());
    }
    var y = new float[x.length];
    try (var device = Devices.open("auto").device()) {
      Kernels.of(Softmax::softmax).on(device).launch(rows, x, y, columns);
      double worst = 0;
      for (int row = 0; row < rows; row++) {
        double sum = 0;
        for (int i = 0; i < columns; i++) {
          sum += Math.exp(x[row * columns + i]);
        }
        for (int i = 0; i < columns; i++) {
          double exact = Math.exp(x[row * columns + i]) / sum;
          worst = Math.max(worst, Math.abs(y[row * columns + i] / exact - 1));
        }
      }
      if (worst > 1e-5) {
        throw new AssertionError("the largest relative error is " + worst);
      }
      System.out.printf(
          "softmax: %d rows of %d, largest relative error %.1e, on %s%n",
          rows, columns, worst, device.capability().name());
    }
  }
}
