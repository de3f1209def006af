package dev.athanor.ops.reduce;

import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The ops that reduce or scan a tensor along dimensions. */
public final class ReduceOps {

  static final String SELECT_LAST = "selectLast";

  /** The kinds of {@code reduce}. */
  private static final List<Reduction> KINDS =
      Stream.of(Reduction.values()).filter(kind -> !kind.isPosition()).toList();

  private ReduceOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(
        reduce(),
        position(true),
        position(false),
        new ScanOp(Reduction.SUM),
        new ScanOp(Reduction.PROD));
  }

  private static Input x(Stream<Reduction> reductions) {
    Set<DType> dtypes =
        reductions.flatMap(kind -> kind.dtypes().stream()).collect(Collectors.toUnmodifiableSet());
    return new Input("x", "[…, N, …]", dtypes, false, "the input tensor");
  }

  private static ReduceOp reduce() {
    return new ReduceOp(
        new OpDescription(
            "reduce",
            "Computes the sum, mean, maximum or another reduction along dimensions.",
            List.of(x(KINDS.stream())),
            List.of(
                Attribute.choice(
                    "kind",
                    "sum",
                    KINDS.stream().map(Reduction::text).toList(),
                    "the reduction to compute"),
                axis().withoutDefault(),
                Attribute.integers(
                    ReduceProblem.AXES,
                    "the dimensions to reduce, instead of axis; an empty list reduces all"),
                keepdims(),
                Attribute.integer(
                        ReduceProblem.CORRECTION,
                        0,
                        "for variance and std: subtracted from N in the divisor; PyTorch's default"
                            + " is 1, NumPy's 0")
                    .from(0, Integer.MAX_VALUE)),
            List.of(
                Output.of(
                    "y", "[…, …]", "same as x", "the result, without the reduced dimensions")),
            "y = the reduction of the elements of x along the axis or axes. Sums use"
                + " compensated summation in f32 (f64 for f64), in an order that the shape of x fixes, and are rounded"
                + " to the dtype of x at the end; a mean is the sum before this rounding, divided"
                + " by N. max and min return NaN if any element is NaN. Sums and products of"
                + " integers wrap. l1, l2 and sum-square combine |x| and x²; variance is"
                + " Σ(x - mean(x))² / (N - correction), std its root; squares overflow like f32 (f64"
                + " for f64). any and all reduce bools",
            "1 per element of x"),
        given -> Reduction.of(given.choice("kind")));
  }

  private static ReduceOp position(boolean greatest) {
    var extreme = greatest ? "maximum" : "minimum";
    var first = greatest ? Reduction.ARGMAX : Reduction.ARGMIN;
    var last = greatest ? Reduction.ARGMAX_LAST : Reduction.ARGMIN_LAST;
    return new ReduceOp(
        new OpDescription(
            first.text(),
            "Returns the index of the %s along a dimension.".formatted(extreme),
            List.of(x(Stream.of(first))),
            List.of(
                axis(),
                Attribute.choice(ReduceProblem.OUT, "i64", List.of("i64", "i32"), "dtype of y"),
                keepdims(),
                Attribute.flag(SELECT_LAST, "whether the last of several wins, not the first")),
            List.of(
                Output.of("y", "[…, …]", "outDtype", "the indices, without the reduced dimension")),
            "y = the index of the %s along the axis, the first if there are several;"
                    .formatted(extreme)
                + (greatest
                    ? " NaN counts as greater than all numbers, as in NumPy and PyTorch"
                    : " NaN counts as less than all numbers, as in NumPy and PyTorch"),
            "1 per element of x"),
        given -> given.flag(SELECT_LAST) ? last : first);
  }

  private static Attribute axis() {
    return Attribute.integer(
        ReduceProblem.AXIS,
        -1,
        "the dimension to reduce, which is removed; negative values count from the"
            + " end. The default is the last dimension; NumPy and PyTorch reduce all"
            + " dimensions by default, and ONNX keeps the reduced dimension");
  }

  private static Attribute keepdims() {
    return Attribute.flag(
        ReduceProblem.KEEPDIMS, "whether reduced dimensions are kept, with extent 1");
  }
}
