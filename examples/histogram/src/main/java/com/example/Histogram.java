package com.example;

import static dev.athanor.engine.lift.Gpu.atomicAdd;
import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.gridDimX;
import static dev.athanor.engine.lift.Gpu.sharedInts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import java.util.Arrays;
import java.util.SplittableRandom;

/** Counts how often each byte occurs. */
public final class Histogram {
  private static final int BINS = 256;

  private Histogram() {}

  @GpuKernel(blockSize = BINS)
  static void histogram(byte[] data, int[] counts, int n) {
    int[] own = sharedInts(BINS);
    own[threadIdxX()] = 0;
    barrier();
    for (int i = threadIdxX() + blockIdxX() * blockDimX(); i < n; i += gridDimX() * blockDimX()) {
      atomicAdd(own, data[i] & 0xFF, 1);
    }
    barrier();
    atomicAdd(counts, threadIdxX(), own[threadIdxX()]);
  }

  public static void main(String[] arguments) {
    var data = new byte[20_000];
    new SplittableRandom(1).nextBytes(data);
    var counts = new int[BINS];
    try (var device = Devices.open("auto").device()) {
      Kernels.of(Histogram::histogram).on(device).launch(8, data, counts, data.length);
      var expected = new int[BINS];
      for (byte each : data) {
        expected[each & 0xFF]++;
      }
      if (!Arrays.equals(counts, expected)) {
        throw new AssertionError("got " + Arrays.toString(counts));
      }
      System.out.println(
          "histogram: " + data.length + " bytes counted on " + device.capability().name());
    }
  }
}
