package dev.athanor.ops.row.norm;

import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.reference.CompensatedSum;
import dev.athanor.ops.row.Row;
import java.util.List;
import java.util.Set;

/** A normalization of rows. */
public enum Norm {
  /** (x − mean) / √(variance + epsilon). */
  LAYER("layer-norm"),
  /** x / √(mean of squares + epsilon). */
  RMS("rms-norm");

  private final String text;

  Norm(String text) {
    this.text = text;
  }

  /** Returns the name of the op. */
  String text() {
    return text;
  }

  /** Returns the name of the normalization, for descriptions. */
  String title() {
    return this == LAYER ? "layer normalization" : "RMS normalization";
  }

  /** Returns the part of kernel names: {@code layer_norm}. */
  String word() {
    return text.replace('-', '_');
  }

  /** Returns the formula, for descriptions. */
  String formula(String x) {
    return this == LAYER
        ? "gamma · (%1$s - mean(%1$s)) / √(mean((%1$s - mean(%1$s))²) + epsilon) + beta"
            .formatted(x)
        : "gamma · %1$s / √(mean(%1$s²) + epsilon)".formatted(x);
  }

  /** Returns the range of the rows, for descriptions. */
  String range() {
    return "squares of %s are summed in f32, which holds numbers from 2^-126 to 2^128"
        .formatted(shifts() ? "differences from the mean" : "a row");
  }

  /** Returns the inputs that all rows share, of some dtypes. */
  List<Input> weights(Set<DType> dtypes) {
    return weights(dtypes, "[N]", "column");
  }

  /**
   * Returns the inputs of weights.
   *
   * @param each what a weight belongs to
   */
  List<Input> weights(Set<DType> dtypes, String shape, String each) {
    var gamma =
        new Input(
                "gamma", shape, dtypes, true, "scale factor of each %s; default 1".formatted(each))
            .like("x", DType.F32)
            .or("weight");
    var beta =
        new Input("beta", shape, dtypes, true, "offset of each %s; default 0".formatted(each))
            .like("gamma")
            .or("bias");
    return shifts() ? List.of(gamma, beta) : List.of(gamma);
  }

  /** Returns the number of floating-point operations per element. */
  int flops() {
    return this == LAYER ? 8 : 4;
  }

  /** Returns the attribute that prevents division by zero in constant rows. */
  public Attribute epsilon() {
    return Attribute.number(
            "epsilon",
            this == LAYER ? 1e-5 : 1e-6,
            this == LAYER
                ? "added to the variance; the default matches PyTorch and ONNX"
                : "added to the mean square. The default of PyTorch is the machine epsilon of"
                    + " the dtype of x, that of ONNX 1e-5")
        .from(0, 1e30);
  }

  /** Returns whether beta is added. */
  boolean shifts() {
    return this == LAYER;
  }

  /**
   * The statistics of a row. They normalize it as {@code (x - origin) · scale + shift}.
   *
   * @param origin approximately the mean; 0 for an RMS norm
   * @param shift the correction for the distance from the origin to the mean
   */
  public record Statistics(Norm norm, Real origin, Real scale, Real shift) {

    /** Returns the normalized value. */
    public Real apply(Real x) {
      return norm == LAYER ? x.minus(origin).fma(scale, shift) : x.times(scale);
    }
  }

  /** Computes the statistics of a row; values outside the row must be zeros. */
  public Statistics of(Row row, Row.Data values, Real epsilon) {
    var squares = row.variable(0);
    var count = row.n.real(epsilon.type());
    if (this == RMS) {
      values.forEach((_, v) -> v.forEach(each -> squares.addProduct(each, each)));
      var mean = row.sum(squares).over(count);
      var zero = mean.constant(0);
      return new Statistics(this, zero, reciprocalRoot(mean.plus(epsilon)), zero);
    }
    // Sums squares of differences from a number near the mean, so that nothing cancels. That number
    // is the mean of what is read first, which is all of a row that fits. The sum of the
    // differences corrects its rounding error: a constant row becomes exact zeros, however large.
    var begin = row.variable(0);
    values.forFirst((_, v) -> v.forEach(begin::add));
    var origin = row.sum(begin).over(row.atOnce().real(epsilon.type()));
    var differences = row.variable(0);
    values.forEach((chunk, v) -> {
      for (var each : chunk.orElse(0, v.stream().map(x -> x.minus(origin)).toList())) {
        differences.add(each);
        squares.addProduct(each, each);
      }
    });
    var sums = row.sums(differences, squares);
    var rest = sums.get(0).over(count);
    var variance = sums.get(1).over(count).minus(rest.times(rest));
    // unlike max, this preserves NaN
    var positive = variance.constant(0).where(variance.lt(0), variance);
    var scale = reciprocalRoot(positive.plus(epsilon));
    return new Statistics(this, origin, scale, rest.times(scale).negate());
  }

  private static Real reciprocalRoot(Real x) {
    return x.type() == Type.F32 ? x.rsqrt() : x.sqrt().reciprocal();
  }

  /**
   * The statistics of a row in float64.
   *
   * @param origin an element of the row, or 0
   * @param mean the mean of the differences from the origin, so that it has no rounding error that
   *     is relative to the origin
   */
  public record Reference(double origin, double mean, double scale) {

    /** Returns the normalized value. */
    public double apply(double x) {
      return (x - origin - mean) * scale;
    }
  }

  /** Computes the statistics of a row in float64, by compensated sums. */
  public Reference reference(double[] row, double epsilon) {
    int n = row.length;
    double origin = shifts() ? row[0] : 0;
    double mean = shifts() ? CompensatedSum.of(n, i -> row[(int) i] - origin) / n : 0;
    double squares =
        CompensatedSum.of(
            n,
            i -> {
              double difference = row[(int) i] - origin - mean;
              return difference * difference;
            });
    return new Reference(origin, mean, 1 / Math.sqrt(squares / n + epsilon));
  }
}
