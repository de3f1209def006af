package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockIdxY;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.lift.KernelOp;
import dev.athanor.ops.lift.ReferenceInputs;
import dev.athanor.ops.lift.Sizes;
import java.util.Map;

/**
 * An op of two launches: the first adds groups of rows into a temporary tensor, and the second adds
 * these sums. A tall matrix thus fills the GPU.
 */
public final class ColumnSum {
  private static final int THREADS = 128;
  private static final int ROWS = 64;

  private ColumnSum() {}

  @GpuKernel(blockSize = THREADS)
  static void partialSums(float[] x, float[] partial, int rows, int columns) {
    int column = blockIdxX() * blockDimX() + threadIdxX();
    if (column < columns) {
      int end = Math.min(rows, (blockIdxY() + 1) * ROWS);
      float sum = 0;
      for (int row = blockIdxY() * ROWS; row < end; row++) {
        sum += x[row * columns + column];
      }
      partial[blockIdxY() * columns + column] = sum;
    }
  }

  @GpuKernel(blockSize = THREADS)
  static void addPartialSums(float[] partial, float[] y, int groups) {
    int column = blockIdxX() * blockDimX() + threadIdxX();
    if (column < y.length) {
      float sum = 0;
      for (int group = 0; group < groups; group++) {
        sum += partial[group * y.length + column];
      }
      y[column] = sum;
    }
  }

  static Op op() {
    return KernelOp.named("column-sum")
        .summary("Adds the rows of a matrix.")
        .formula("y[c] = Σ x[r, c] over r")
        .define("across", sizes -> Math.ceilDiv(sizes.size("C"), THREADS))
        .define("G", sizes -> Math.ceilDiv(sizes.size("R"), ROWS))
        .kernel(DType.F32, Kernels.of(ColumnSum::partialSums))
        .input("x", "[R, C]", "the input rows")
        .temporary("partial", "[G, C]")
        .argument("R")
        .argument("C")
        .grid("across", "G")
        .nextLaunch()
        .kernel(DType.F32, Kernels.of(ColumnSum::addPartialSums))
        .argument("partial")
        .output("y", "[C]", "the sums")
        .argument("G")
        .flops("R·C", sizes -> (double) sizes.size("R") * sizes.size("C"))
        .reference(ColumnSum::reference)
        .op();
  }

  private static Map<String, double[]> reference(Sizes sizes, ReferenceInputs inputs) {
    var x = inputs.get("x");
    var y = new double[(int) sizes.size("C")];
    for (int i = 0; i < x.length; i++) {
      y[i % y.length] += x[i];
    }
    return Map.of("y", y);
  }
}
