package com.example;

import static dev.athanor.engine.lift.Gpu.atomicAdd;
import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.Devices;
import dev.athanor.engine.lift.DeviceArray;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.KernelStream;
import dev.athanor.engine.lift.Kernels;
import java.util.SplittableRandom;

/** Finds the centers of clusters of points by Lloyd's algorithm. */
public final class KMeans {

  private KMeans() {}

  /** Records of numbers are kept in registers. */
  record Point(float x, float y) {
    float distance(Point other) {
      float dx = x - other.x;
      float dy = y - other.y;
      return dx * dx + dy * dy;
    }
  }

  /** Adds each point, in thousandths, to the sums of its nearest center. */
  @GpuKernel(blockSize = 128)
  static void assign(float[] points, float[] centers, long[] sums, int n, int clusters) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < n) {
      var point = new Point(points[2 * i], points[2 * i + 1]);
      int nearest = 0;
      float least = Float.MAX_VALUE;
      for (int c = 0; c < clusters; c++) {
        float distance = point.distance(new Point(centers[2 * c], centers[2 * c + 1]));
        if (distance < least) {
          least = distance;
          nearest = c;
        }
      }
      // integer sums do not depend on the order of the threads
      atomicAdd(sums, 3 * nearest, (long) (point.x() * 1000));
      atomicAdd(sums, 3 * nearest + 1, (long) (point.y() * 1000));
      atomicAdd(sums, 3 * nearest + 2, 1L);
    }
  }

  /** Moves each center to the mean of its points and clears the sums. */
  @GpuKernel(blockSize = 32)
  static void move(float[] centers, long[] sums, int clusters) {
    int c = threadIdxX();
    if (c < clusters) {
      long count = Math.max(1, sums[3 * c + 2]);
      centers[2 * c] = sums[3 * c] / 1000f / count;
      centers[2 * c + 1] = sums[3 * c + 1] / 1000f / count;
      for (int i = 0; i < 3; i++) {
        sums[3 * c + i] = 0;
      }
    }
  }

  public static void main(String[] arguments) {
    int n = 3000;
    float[] expected = {0, 0, 10, 0, 5, 8};
    int clusters = expected.length / 2;
    var random = new SplittableRandom(1);
    var points = new float[2 * n];
    for (int i = 0; i < 2 * n; i++) {
      points[i] = expected[2 * (i / 2 % clusters) + i % 2] + (float) random.nextGaussian();
    }
    float[] guesses = {1, 2, 8, 1, 4, 5};
    try (var device = Devices.open("auto").device();
        var stream = KernelStream.open(device);
        var pointsOnDevice = DeviceArray.copyOf(device, points);
        var centersOnDevice = DeviceArray.copyOf(device, guesses);
        var sums = DeviceArray.copyOf(device, new long[3 * clusters])) {
      var assign = Kernels.of(KMeans::assign).on(device);
      var move = Kernels.of(KMeans::move).on(device);
      int blocks = Math.ceilDiv(n, 128);
      for (int step = 0; step < 6; step++) {
        assign.launchAsync(stream, blocks, pointsOnDevice, centersOnDevice, sums, n, clusters);
        move.launchAsync(stream, 1, centersOnDevice, sums, clusters);
      }
      float[] centers = centersOnDevice.toArray();
      for (int i = 0; i < centers.length; i++) {
        if (Math.abs(centers[i] - expected[i]) > 0.2) {
          throw new AssertionError("coordinate %d is %s".formatted(i, centers[i]));
        }
      }
      System.out.println(
          "k-means: " + clusters + " centers found on " + device.capability().name());
    }
  }
}
