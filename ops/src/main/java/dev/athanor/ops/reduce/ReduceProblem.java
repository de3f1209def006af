package dev.athanor.ops.reduce;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.Checks;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A checked reduction.
 *
 * @param x type of the input
 * @param output type of the result
 * @param axes the dimensions in groups
 * @param reduced the indices of the reduced dimensions
 * @param correction subtracted from the number of elements to get the divisor of a variance
 */
record ReduceProblem(
    Reduction reduction,
    TensorType x,
    TensorType output,
    ReducedAxes axes,
    Set<Integer> reduced,
    int correction) {

  static final String AXIS = "axis";
  static final String AXES = "axes";
  static final String KEEPDIMS = "keepdims";
  static final String CORRECTION = "correction";

  /** The attribute of the dtype of y, for reductions to an index. */
  static final String OUT = "outDtype";

  static ReduceProblem of(Reduction reduction, TensorType x, Attributes attributes) {
    var axes = axes(attributes, x);
    requireSupported(reduction, x.dtype());
    var out = DType.of(attributes.choice(OUT)).orElse(x.dtype());
    var shape = ReducedAxes.result(x.shape(), axes, attributes.flag(KEEPDIMS));
    int correction = attributes.has(CORRECTION) ? (int) attributes.integer(CORRECTION) : 0;
    return new ReduceProblem(
        reduction,
        x,
        Checks.output("y", out, shape),
        ReducedAxes.of(x.shape(), axes),
        axes,
        correction);
  }

  private static Set<Integer> axes(Attributes attributes, TensorType x) {
    var shape = x.shape();
    if (!attributes.has(AXES)) {
      long axis = attributes.has(AXIS) ? attributes.integer(AXIS) : -1;
      return Set.of(Checks.axis(axis, AXIS, "x", shape));
    }
    if (attributes.has(AXIS)) {
      throw new OpException.InvalidAttribute(
          AXES,
          "attribute \"axes\" is %s but \"axis\" is also given, as %d; give only one of them"
              .formatted(attributes.integers(AXES), attributes.integer(AXIS)));
    }
    var given = Checks.axes(attributes, AXES, "x", shape);
    return given.isEmpty()
        ? IntStream.range(0, shape.rank()).boxed().collect(Collectors.toSet())
        : new HashSet<>(given);
  }

  private static void requireSupported(Reduction reduction, DType dtype) {
    var supported = reduction.dtypes();
    if (!supported.contains(dtype)) {
      throw new OpException.UnsupportedDType(
          "x",
          "input \"x\" is %s; %s supports %s; cast x first"
              .formatted(
                  dtype.text(),
                  reduction.text(),
                  supported.stream().sorted().map(DType::text).collect(Collectors.joining(", "))));
    }
  }

  /** Returns whether only the last of several dimensions is reduced. */
  boolean reducesRows() {
    return reduced.equals(Set.of(x.shape().rank() - 1)) && x.shape().rank() > 1;
  }

  /** Returns the number of elements that are reduced to one. */
  int count() {
    return Checks.count("x", x.shape(), axes.count());
  }
}
