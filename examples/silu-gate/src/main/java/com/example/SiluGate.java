package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.fastExp;
import static dev.athanor.engine.lift.Gpu.gridDimX;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.util.SplittableRandom;

/** Computes {@code y = silu(gate) * up}, where {@code silu(x) = x / (1 + exp(-x))}. */
public final class SiluGate {

  private SiluGate() {}

  @GpuKernel(blockSize = 256)
  static void siluGate(float[] gate, float[] up, float[] y, int n) {
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      y[i] = silu(gate[i]) * up[i];
    }
  }

  /** Helper methods are inlined. */
  private static float silu(float x) {
    return x / (1 + fastExp(-x));
  }

  public static void main(String[] arguments) {
    int n = 10_000;
    var random = new SplittableRandom(1);
    var gate = new float[n];
    var up = new float[n];
    var y = new float[n];
    for (int i = 0; i < n; i++) {
      gate[i] = (float) random.nextGaussian();
      up[i] = (float) random.nextGaussian();
    }
    try (var device = Devices.open("auto").device()) {
      Kernels.of(SiluGate::siluGate).on(device).launch(16, gate, up, y, n);
      double worst = 0;
      for (int i = 0; i < n; i++) {
        double exact = gate[i] / (1 + Math.exp(-gate[i])) * up[i];
        worst = Math.max(worst, Math.abs(y[i] - exact));
      }
      if (worst > 1e-5) {
        throw new AssertionError("the largest error is " + worst);
      }
      System.out.printf(
          "silu-gate: %d elements, largest error %.1e, on %s%n",
          n, worst, device.capability().name());
    }
  }
}
