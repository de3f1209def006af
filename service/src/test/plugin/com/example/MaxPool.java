package com.example;

import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockDimY;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.dynamicSharedInts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxY;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.lift.KernelOp;
import dev.athanor.ops.lift.ReferenceInputs;
import dev.athanor.ops.lift.Sizes;
import java.util.Arrays;
import java.util.Map;

/**
 * An op whose output has another shape: the largest of each {@code window} numbers of a row. It has
 * blocks of two dimensions and a tile in dynamic shared memory.
 */
public final class MaxPool {

  private MaxPool() {}

  @GpuKernel
  static void maxPool(int[] x, int[] y, int window, int rows, int columns, int pooled) {
    int[] tile = dynamicSharedInts();
    int width = blockDimX() * window;
    int row = blockIdxY() * blockDimY() + threadIdxY();
    for (int i = threadIdxX(); i < width; i += blockDimX()) {
      int column = blockIdxX() * width + i;
      tile[threadIdxY() * width + i] =
          row < rows && column < columns ? x[row * columns + column] : Integer.MIN_VALUE;
    }
    barrier();
    int largest = Integer.MIN_VALUE;
    for (int i = 0; i < window; i++) {
      largest = Math.max(largest, tile[threadIdxY() * width + threadIdxX() * window + i]);
    }
    int column = blockIdxX() * blockDimX() + threadIdxX();
    if (row < rows && column < pooled) {
      y[row * pooled + column] = largest;
    }
  }

  static Op op() {
    return KernelOp.named("row-max-pool")
        .summary("Computes the maximum of each window of a row.")
        .formula("y[r, p] = max x[r, window · p + i] for i < window")
        .kernel(DType.I32, Kernels.of(MaxPool::maxPool))
        .input("x", "[R, C]", "the input rows")
        .output("y", "[R, P]", "the maxima; P = C / window, rounded down")
        .attribute(Attribute.integer("window", 2, "the window size").from(1, 64))
        .argument("R")
        .argument("C")
        .argument("P")
        .define("P", sizes -> sizes.size("C") / sizes.attributes().integer("window"))
        .define("across", sizes -> Math.ceilDiv(sizes.size("P"), 32))
        .define("down", sizes -> Math.ceilDiv(sizes.size("R"), 4))
        .grid("across", "down")
        .block(Dim3.of(32, 4))
        .sharedBytes(sizes -> 32 * 4 * sizes.attributes().integer("window") * Integer.BYTES)
        .flops("R·C", sizes -> (double) sizes.size("R") * sizes.size("C"))
        .draw("x", (draw, type, _) -> draw.integers(-1000, 1000, type))
        .cases("R=1 C=2", "R=5 C=7", "R=9 C=200 window=3", "R=3 C=64 window=64")
        .reference(MaxPool::reference)
        .op();
  }

  private static Map<String, double[]> reference(Sizes sizes, ReferenceInputs inputs) {
    var x = inputs.get("x");
    int window = (int) sizes.attributes().integer("window");
    int columns = (int) sizes.size("C");
    int pooled = (int) sizes.size("P");
    var y = new double[(int) sizes.size("R") * pooled];
    for (int i = 0; i < y.length; i++) {
      int first = i / pooled * columns + i % pooled * window;
      y[i] = Arrays.stream(x, first, first + window).max().orElseThrow();
    }
    return Map.of("y", y);
  }
}
