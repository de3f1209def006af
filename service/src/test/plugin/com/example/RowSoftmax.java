package com.example;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.blockMax;
import static dev.athanor.engine.lift.Gpu.blockSum;
import static dev.athanor.engine.lift.Gpu.fastExp;
import static dev.athanor.engine.lift.Gpu.threadIdxX;

import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.lift.KernelOp;
import dev.athanor.ops.lift.ReferenceInputs;
import dev.athanor.ops.lift.Sizes;
import java.util.Map;

/** An op on rows whose kernels are Java methods: a block for each row. */
public final class RowSoftmax {

  private RowSoftmax() {}

  @GpuKernel(blockSize = 128)
  static void rowSoftmax(float[] x, float[] y, float scale, int columns) {
    int row = blockIdxX() * columns;
    float largest = Float.NEGATIVE_INFINITY;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      largest = Math.max(largest, scale * x[row + i]);
    }
    largest = blockMax(largest);
    float sum = 0;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      sum += fastExp(scale * x[row + i] - largest);
    }
    sum = blockSum(sum);
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      y[row + i] = fastExp(scale * x[row + i] - largest) / sum;
    }
  }

  /** Rows of f16, whose elements are the bits of shorts; sums are in f32. */
  @GpuKernel(blockSize = 128)
  static void rowSoftmaxHalf(short[] x, short[] y, float scale, int columns) {
    int row = blockIdxX() * columns;
    float largest = Float.NEGATIVE_INFINITY;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      largest = Math.max(largest, scale * Float.float16ToFloat(x[row + i]));
    }
    largest = blockMax(largest);
    float sum = 0;
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      sum += fastExp(scale * Float.float16ToFloat(x[row + i]) - largest);
    }
    sum = blockSum(sum);
    for (int i = threadIdxX(); i < columns; i += blockDimX()) {
      float power = fastExp(scale * Float.float16ToFloat(x[row + i]) - largest);
      y[row + i] = Float.floatToFloat16(power / sum);
    }
  }

  static Op op() {
    return KernelOp.named("row-softmax")
        .summary("Computes the softmax of each row.")
        .formula("y[…, c] = exp(scale · x[…, c]) / Σ exp(scale · x[…, ·])")
        .kernel(DType.F32, Kernels.of(RowSoftmax::rowSoftmax))
        .kernel(DType.F16, Kernels.of(RowSoftmax::rowSoftmaxHalf))
        .input("x", "[…, C]", "the input rows")
        .output("y", "[…, C]", "the probabilities")
        .attribute(Attribute.number("scale", 1, "scale factor applied to x").from(0, 1e6))
        .argument("C")
        .grid("…")
        .reference(RowSoftmax::reference)
        .op();
  }

  private static Map<String, double[]> reference(Sizes sizes, ReferenceInputs inputs) {
    var x = inputs.get("x");
    int columns = (int) sizes.size("C");
    double scale = sizes.attributes().number("scale");
    var y = new double[x.length];
    for (int row = 0; row < x.length; row += columns) {
      double sum = 0;
      for (int i = row; i < row + columns; i++) {
        sum += Math.exp(scale * x[i]);
      }
      for (int i = row; i < row + columns; i++) {
        y[i] = Math.exp(scale * x[i]) / sum;
      }
    }
    return Map.of("y", y);
  }
}
