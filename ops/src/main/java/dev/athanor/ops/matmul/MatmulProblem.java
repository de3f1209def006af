package dev.athanor.ops.matmul;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import java.util.Map;

/**
 * A matrix product, its shapes checked: {@code c = activation(alpha · a·b + bias)}.
 *
 * @param dtype of a and b
 * @param outDType of c
 * @param bias whether there is one
 * @param alpha as the kernels have it: rounded to f32 but for f64
 */
record MatmulProblem(
    DType dtype,
    DType outDType,
    Batch batch,
    int m,
    int n,
    int k,
    boolean transposeA,
    boolean transposeB,
    boolean bias,
    Activation activation,
    double alpha) {

  static MatmulProblem of(Map<String, TensorType> inputs, Attributes attributes) {
    var a = inputs.get("a");
    var b = inputs.get("b");
    var bias = inputs.get("bias");
    if (a == null || b == null) {
      throw new IllegalArgumentException("matmul needs a and b, got " + inputs.keySet());
    }
    atLeastTwoDimensions("a", a);
    atLeastTwoDimensions("b", b);
    boolean transposeA = attributes.flag("transposeA");
    boolean transposeB = attributes.flag("transposeB");
    int m = extent("a", a, transposeA ? -1 : -2);
    int k = extent("a", a, transposeA ? -2 : -1);
    int depthOfB = extent("b", b, transposeB ? -1 : -2);
    int n = extent("b", b, transposeB ? -2 : -1);
    if (k != depthOfB) {
      throw new OpException.ShapeMismatch(
          "b",
          "a %s%s has K = %d but b %s%s has K = %d; they must be equal"
              .formatted(
                  a.shape(),
                  transposeA ? " transposed" : "",
                  k,
                  b.shape(),
                  transposeB ? " transposed" : "",
                  depthOfB));
    }
    if (a.dtype() != b.dtype()) {
      throw new OpException.UnsupportedDType(
          "b",
          "a is %s but b is %s; they must be the same"
              .formatted(a.dtype().text(), b.dtype().text()));
    }
    if (bias != null && (bias.shape().rank() != 1 || bias.shape().extent(0) != n)) {
      throw new OpException.ShapeMismatch(
          "bias", "bias has shape %s; it must be [N] = [%d]".formatted(bias.shape(), n));
    }
    if (bias != null && bias.dtype() != a.dtype()) {
      throw new OpException.UnsupportedDType(
          "bias",
          "bias is %s but a is %s; they must be the same"
              .formatted(bias.dtype().text(), a.dtype().text()));
    }
    var activation = Activation.of(attributes.choice("activation"));
    if (a.dtype() == DType.F64 && activation != Activation.NONE && activation != Activation.RELU) {
      throw new OpException.UnsupportedDType(
          "activation",
          "activation %s is a function of f32; a product of f64 takes none or relu"
              .formatted(activation.text()));
    }
    double alpha = attributes.number("alpha");
    return new MatmulProblem(
        a.dtype(),
        outDType(a.dtype(), attributes.choice("outDtype")),
        Batch.of(a.shape().leading(2), b.shape().leading(2)),
        m,
        n,
        k,
        transposeA,
        transposeB,
        bias != null,
        activation,
        a.dtype() == DType.F64 ? alpha : (float) alpha);
  }

  static DType outDType(DType dtype, String asked) {
    if (asked.isEmpty()) {
      return dtype;
    }
    var out = DType.of(asked).orElseThrow(() -> new IllegalArgumentException("no dtype " + asked));
    if (out != dtype && (dtype.bytes() != 2 || out == DType.F64)) {
      throw new OpException.UnsupportedDType(
          "outDtype",
          "a product of %s is %s, got outDtype %s"
              .formatted(
                  dtype.text(), dtype.bytes() == 2 ? "f16, bf16 or f32" : dtype.text(), asked));
    }
    return out;
  }

  private static void atLeastTwoDimensions(String name, TensorType tensor) {
    if (tensor.shape().rank() < 2) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s; a matrix has at least two dimensions"
              .formatted(name, tensor.shape()));
    }
  }

  static int extent(String name, TensorType tensor, int index) {
    long extent = tensor.shape().extent(index);
    if (extent > Integer.MAX_VALUE - 1024) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s; 2^31 - 1025 is the most for a dimension"
              .formatted(name, tensor.shape()));
    }
    return (int) extent;
  }

  /** Elements from one row of a, as it is stored, to the next. */
  int leadingDimensionA() {
    return transposeA ? m : k;
  }

  int leadingDimensionB() {
    return transposeB ? k : n;
  }

  TensorType output() {
    return new TensorType(outDType, batch.shape().with(m, n));
  }

  /** How many products there are. */
  long products() {
    return batch.shape().elements();
  }

  Plan.Cost cost() {
    double products = products();
    double read = products * ((double) m * k + (double) k * n) + (bias ? n : 0);
    return new Plan.Cost(
        2 * products * m * n * k, read * dtype.bytes() + products * m * n * outDType.bytes());
  }
}
