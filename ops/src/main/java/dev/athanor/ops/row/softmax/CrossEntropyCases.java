package dev.athanor.ops.row.softmax;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op.Case;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.row.RowCases;
import dev.athanor.ops.row.RowShape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Test cases of cross-entropy: every row length, ignored and missing labels, special logits. */
final class CrossEntropyCases {

  /** The label of ignored rows in the cases that set it. */
  private static final int IGNORED = 2;

  private final CrossEntropy op;
  private final boolean backward;
  private final RandomGenerator random;
  private final boolean quick;

  CrossEntropyCases(CrossEntropy op, boolean backward, RandomGenerator random, boolean quick) {
    this.op = op;
    this.backward = backward;
    this.random = random;
    this.quick = quick;
  }

  /** Draws inputs of the given types, with labels that exist. */
  static Map<String, HostTensor> draw(Map<String, TensorType> inputs, Draw draw) {
    long n = RowShape.input(inputs, "x").shape().extent(-1);
    double log = Math.log((double) n);
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name,
            switch (name) {
              case "target" -> draw.integers(0, Math.max(0, n - 1), type);
              case "lse" -> draw.uniform(log, log + 1, type);
              default -> draw.usual(type);
            }));
    return drawn;
  }

  List<Case> all() {
    var cases = new ArrayList<Case>();
    for (var dtypes : List.of(RowCases.DTYPES, List.of(DType.F64))) {
      cases.addAll(RowCases.sizes(quick, dtypes, this::sized));
    }
    for (var dtype : List.of(DType.F32, DType.BF16, DType.F64)) {
      cases.add(labels(dtype, DType.I64, 3));
      cases.add(labels(dtype, DType.I32, 600));
      cases.add(infinities(dtype));
    }
    return cases;
  }

  private Case sized(int number, DType dtype, int rows, int n) {
    var made =
        new RowCases.Builder(op, random)
            .normal("x", 0, number % 2 == 0 ? 1 : 10, dtype, rows, n)
            .integers("target", 0, n - 1, number % 2 == 0 ? DType.I64 : DType.I32, rows)
            .attribute("smoothing", number % 3 == 1 ? 0.1 : 0);
    return finish(made, dtype, rows, n);
  }

  /** Returns rows whose labels exist, are ignored, are negative or are beyond the last index. */
  private Case labels(DType dtype, DType ofLabels, int n) {
    var labels = HostTensor.zeros(TensorType.of(ofLabels, 9));
    for (int i = 0; i < 9; i++) {
      long label = i == 8 && ofLabels == DType.I64 ? (1L << 32) + 1 : i - 3;
      ofLabels.writeLong(labels.data(), i, i == 7 ? n : label);
    }
    var made =
        new RowCases.Builder(op, random)
            .normal("x", dtype, 9, n)
            .input("target", labels)
            .attribute("ignoreIndex", IGNORED);
    return finish(made, dtype, 9, n);
  }

  /** Returns masked logits, whose labels are masked or not, and rows of infinities and NaN. */
  private Case infinities(DType dtype) {
    int n = 37;
    var x = new Draw(random).normal(0, 1, TensorType.of(dtype, 7, n));
    for (int j = 0; j < n; j++) {
      for (int row = 0; row < 3; row++) {
        if (j % 3 == row) {
          dtype.write(x.data(), row * n + j, Double.NEGATIVE_INFINITY);
        }
      }
      dtype.write(x.data(), 5 * n + j, Double.NEGATIVE_INFINITY);
    }
    dtype.write(x.data(), 3 * n + 5, Double.NaN);
    dtype.write(x.data(), 4 * n + 30, Double.POSITIVE_INFINITY);
    // the loss and the gradient of an ignored row are 0, whatever its logits
    dtype.write(x.data(), 6 * n + 5, Double.NaN);
    var labels = HostTensor.zeros(TensorType.of(DType.I64, 7));
    DType.I64.writeLong(labels.data(), 1, 1);
    DType.I64.writeLong(labels.data(), 6, -100);
    var made = new RowCases.Builder(op, random).input("x", x).input("target", labels);
    return finish(made, dtype, 7, n);
  }

  /**
   * Adds the inputs of the gradient. Those of f32 and f64 are scaled by the length, so that the
   * tolerance bounds the error of small probabilities too.
   */
  private Case finish(RowCases.Builder made, DType dtype, int rows, int n) {
    var none = Attributes.of(op.description(), Map.of());
    if (!backward) {
      var number = dtype == DType.F64 ? DType.F64 : DType.F32;
      var tolerance = op.tolerance("loss", number, Map.of(), none);
      return made.within(Map.of("loss", tolerance, "lse", tolerance));
    }
    boolean isDouble = dtype == DType.F64;
    var number = isDouble ? DType.F64 : DType.F32;
    double deviation = dtype.bytes() < Float.BYTES ? 1 : n;
    var lse = new Draw(random).uniform(Math.log(n), Math.log(n) + 1, TensorType.of(number, rows));
    return made.input("lse", lse)
        .normal("grad", 0, deviation, number, rows)
        .within(Map.of("dx", op.tolerance("dx", dtype, Map.of(), none)));
  }
}
