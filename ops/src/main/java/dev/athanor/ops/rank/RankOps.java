package dev.athanor.ops.rank;

import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import java.util.List;
import java.util.Set;

/**
 * The ops that order elements along a dimension, or rows by their similarity to a query; and
 * sample.
 */
public final class RankOps {

  private static final Input X =
      new Input(
          "x",
          "[…, N, …]",
          Set.of(DType.F16, DType.BF16, DType.F32, DType.F64, DType.I32, DType.I64),
          false,
          "the input tensor");

  private static final String ORDER =
      "Equal elements keep the order of their indices. NaN is the greatest number, and −0 equals 0,"
          + " as in NumPy and PyTorch";

  private RankOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(topK(), sort(), argsort(), new SearchOp(), new SampleOp());
  }

  private static RankOp topK() {
    return new RankOp(
        new OpDescription(
            "top-k",
            "Returns the k largest or smallest elements along a dimension, sorted, and their indices.",
            List.of(X),
            List.of(
                Attribute.integer(RankOp.K, "number of elements to return, at most N")
                    .from(1, Integer.MAX_VALUE)
                    .asRequired(),
                axis(),
                Attribute.flag("largest", true, "return the largest elements, not the smallest")),
            List.of(
                Output.of("values", "[…, k, …]", "same as x", "the elements, copied bit for bit"),
                Output.of("indices", "[…, k, …]", "i64", "their indices along the axis")),
            "values[…, j, …] = x[…, indices[…, j, …], …], where indices[…, j, …] is the index of"
                + " the element at position j of the order, which is descending if largest is true. "
                + ORDER,
            "0"),
        Result.VALUES_INDICES,
        "largest");
  }

  private static RankOp sort() {
    return new RankOp(
        new OpDescription(
            "sort",
            "Sorts the elements along a dimension.",
            List.of(X),
            List.of(axis(), descending()),
            List.of(
                Output.of(
                    "y", "[…, N, …]", "same as x", "the sorted elements, copied bit for bit")),
            "y = the elements of x along the axis in ascending or descending order. " + ORDER,
            "0"),
        Result.VALUES,
        "descending");
  }

  private static RankOp argsort() {
    return new RankOp(
        new OpDescription(
            "argsort",
            "Returns the indices that sort the elements along a dimension.",
            List.of(X),
            List.of(axis(), descending()),
            List.of(Output.of("indices", "[…, N, …]", "i64", "the indices of the sorted elements")),
            "indices[…, j, …] = the index along the axis of the element of x at position j of the"
                + " ascending or descending order. "
                + ORDER,
            "0"),
        Result.INDICES,
        "descending");
  }

  private static Attribute axis() {
    return Attribute.integer("axis", -1, "dimension to sort; negative values count from the end");
  }

  private static Attribute descending() {
    return Attribute.flag("descending", "sort from the greatest element to the least");
  }
}
