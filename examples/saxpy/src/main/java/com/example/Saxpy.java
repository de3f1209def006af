package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;

/** Computes {@code y = alpha * x + y}, one element per thread. */
public final class Saxpy {

  private Saxpy() {}

  @GpuKernel(blockSize = 256)
  static void saxpy(float[] x, float[] y, float alpha, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      y[i] = Math.fma(alpha, x[i], y[i]);
    }
  }

  public static void main(String[] arguments) {
    int n = 10_000;
    var x = new float[n];
    var y = new float[n];
    for (int i = 0; i < n; i++) {
      x[i] = i;
      y[i] = 1;
    }
    try (var device = Devices.open("auto").device()) {
      Kernels.of(Saxpy::saxpy).on(device).launch(Math.ceilDiv(n, 256), x, y, 0.5f, n);
      for (int i = 0; i < n; i++) {
        if (y[i] != 0.5f * i + 1) {
          throw new AssertionError("y[%d] is %s".formatted(i, y[i]));
        }
      }
      System.out.println("saxpy: " + n + " elements are correct on " + device.capability().name());
    }
  }
}
