package org.example;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;

public final class Doubled {

  private Doubled() {}

  @GpuKernel(blockSize = 64)
  static void doubled(float[] x) {
    int i = Gpu.blockIdxX() * Gpu.blockDimX() + Gpu.threadIdxX();
    if (i < x.length) {
      x[i] *= 2;
    }
  }

  public static void run(float[] x) {
    try (var device = Devices.open("emulator").device()) {
      Kernels.of(Doubled::doubled).on(device).launch((x.length + 63) / 64, (Object) x);
    }
  }
}
