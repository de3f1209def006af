package dev.athanor.ops.reduce;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.map.ElementwiseOps;
import java.util.List;
import java.util.stream.Stream;

/** The ops that reduce a tensor along a dimension. */
public final class ReduceOps {

  private static final Input X =
      new Input("x", "[…, N, …]", ElementwiseOps.FLOATS, false, "the input tensor");

  private ReduceOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(reduce(), argmax());
  }

  private static ReduceOp reduce() {
    return new ReduceOp(
        new OpDescription(
            "reduce",
            "Computes the sum, mean, maximum or minimum along a dimension.",
            List.of(X),
            List.of(
                Attribute.choice(
                    "kind",
                    "sum",
                    Stream.of(Reduction.SUM, Reduction.MEAN, Reduction.MAX, Reduction.MIN)
                        .map(Reduction::text)
                        .toList(),
                    "the reduction to compute"),
                axis()),
            List.of(
                Output.of("y", "[…, …]", "same as x", "the result, without the reduced dimension")),
            "y = the sum, mean, maximum or minimum of x along the axis. Sums use"
                + " compensated summation in f32 (f64 for f64), in an order that the shape of x fixes, and are rounded"
                + " to the dtype of x at the end; a mean is the sum before this rounding, divided"
                + " by N. max and min return NaN if any element is NaN",
            "1 per element of x"),
        given -> Reduction.of(given.choice("kind")));
  }

  private static ReduceOp argmax() {
    return new ReduceOp(
        new OpDescription(
            "argmax",
            "Returns the index of the maximum along a dimension.",
            List.of(X),
            List.of(
                axis(), Attribute.choice(ReduceOp.OUT, "i64", List.of("i64", "i32"), "dtype of y")),
            List.of(
                Output.of("y", "[…, …]", "outDtype", "the indices, without the reduced dimension")),
            "y = the index of the maximum along the axis, the first if there are several;"
                + " NaN counts as greater than all numbers, as in NumPy and PyTorch",
            "1 per element of x"),
        _ -> Reduction.ARGMAX);
  }

  private static Attribute axis() {
    return Attribute.integer(
        ReduceOp.AXIS,
        -1,
        "the dimension to reduce, which is removed; negative values count from the"
            + " end. The default is the last dimension; NumPy and PyTorch reduce all"
            + " dimensions by default, and ONNX keeps the reduced dimension");
  }
}
