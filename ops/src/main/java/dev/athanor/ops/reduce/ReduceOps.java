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
      new Input("x", "[…, N, …]", ElementwiseOps.FLOATS, false, "the numbers");

  private ReduceOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(reduce(), argmax());
  }

  private static ReduceOp reduce() {
    return new ReduceOp(
        new OpDescription(
            "reduce",
            "Reduces a tensor along one dimension.",
            List.of(X),
            List.of(
                Attribute.choice(
                    "kind",
                    "sum",
                    Stream.of(Reduction.SUM, Reduction.MEAN, Reduction.MAX, Reduction.MIN)
                        .map(Reduction::text)
                        .toList(),
                    "the reduction"),
                axis()),
            List.of(Output.of("y", "[…, …]", "that of x", "the result, without the dimension")),
            "y = the sum, mean, maximum or minimum of x along the axis. A sum is computed in f32 (f64"
                + " for f64) with compensation for rounding errors, in a fixed order, and rounded to"
                + " the dtype of x at the end; a mean is that sum before its last rounding, divided"
                + " by N. max and min are NaN where an element is NaN",
            "1 an element of x"),
        given -> Reduction.of(given.choice("kind")));
  }

  private static ReduceOp argmax() {
    return new ReduceOp(
        new OpDescription(
            "argmax",
            "Finds the greatest number along a dimension.",
            List.of(X),
            List.of(
                axis(),
                Attribute.choice(ReduceOp.OUT, "i64", List.of("i64", "i32"), "the dtype of y")),
            List.of(Output.of("y", "[…, …]", "outDtype", "indices, without the dimension")),
            "y = the index of the greatest number along the axis, the first of equal ones; a NaN"
                + " counts as greater than all numbers, as in NumPy and PyTorch",
            "1 an element of x"),
        _ -> Reduction.ARGMAX);
  }

  private static Attribute axis() {
    return Attribute.integer(
        ReduceOp.AXIS,
        -1,
        "the dimension to reduce, which y lacks; negative ones count from the end. The default is the"
            + " last one, where NumPy and PyTorch reduce all dimensions; ONNX keeps the dimension");
  }
}
