package dev.athanor.ops.indexing;

import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.map.ElementwiseOps;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** The ops that take an index or a condition, as ONNX defines them. */
public final class IndexingOps {

  static final Set<DType> INDEX_DTYPES = Set.of(DType.I32, DType.I64);

  private static final String RANGE =
      "; an index into N elements is from −N to N − 1, and negative ones count from the end. ";

  private static final String ZEROS = RANGE + "Any other index yields zeros";

  private static final String SKIPPED = RANGE + "Updates with any other index are skipped";

  private static final Attribute AXIS =
      Attribute.integer(
          Indices.AXIS, 0, "dimension of x that is indexed; negative values count from the end");

  private static final Attribute REDUCTION =
      Attribute.choice(
          ScatterIndexedOp.REDUCTION,
          "none",
          Stream.of(ScatterReduction.values()).map(ScatterReduction::text).toList(),
          "none: the last update of an element replaces it; others: combines x and all updates of"
              + " an element in the order of the index, in f32 for smaller floats. Integers wrap;"
              + " min and max propagate NaN");

  private IndexingOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(
        new GatherOp(),
        gatherElements(),
        gatherNd(),
        scatterElements(),
        scatterNd(),
        new OneHotOp(),
        new CompressOp());
  }

  private static Input x(String shape) {
    return new Input(Indices.X, shape, ElementwiseOps.ELEMENTS, false, "the input tensor");
  }

  private static Input index(String shape, String meaning) {
    return new Input(Indices.INDEX, shape, INDEX_DTYPES, false, meaning);
  }

  private static Input updates(String shape) {
    return new Input(ScatterIndexedOp.UPDATES, shape, ElementwiseOps.ELEMENTS, false, "the updates")
        .like(Indices.X);
  }

  private static Output y(String shape, String meaning) {
    return Output.of("y", shape, "same as x", meaning);
  }

  private static Op gatherElements() {
    return new GatherIndexedOp(
        new OpDescription(
            "gather-elements",
            "Gathers elements by their index in one dimension.",
            List.of(
                x("[…, N, …]"),
                index(
                    "[…, M, …]",
                    "indices in the dimension axis; other extents are at most those of x" + ZEROS)),
            List.of(AXIS),
            List.of(y("[…, M, …]", "the elements, copied bit for bit")),
            "y[i, m, j] = x[i, index[i, m, j], j], or 0 if index[i, m, j] is out of range",
            "0"),
        Indices::elements,
        List.of(
            "x=?[13] index=#[40]",
            "x=?[5,7] index=#[9,7]",
            "x=?[5,7] index=#[5,33] axis=1",
            "x=?[4,6,5] index=#[3,11,4] axis=-2",
            "x=?[2,3,4,5] index=#[2,2,3,4] axis=3"));
  }

  private static Op gatherNd() {
    return new GatherIndexedOp(
        new OpDescription(
            "gather-nd",
            "Gathers slices by their indices in several dimensions.",
            List.of(
                x("[…b, N1, …, NK, …]"), index("[…b, …, K]", "indices in K dimensions" + ZEROS)),
            List.of(
                Attribute.integer(
                        Indices.BATCH, 0, "number of leading dimensions that x and index share")
                    .from(0, Double.POSITIVE_INFINITY)),
            List.of(y("[…b, …, …]", "the slices, copied bit for bit")),
            "y[b, i, …] = x[b, index[b, i, 0], …, index[b, i, K−1], …], or 0 if an index is out of"
                + " range",
            "0"),
        (inputs, attributes) -> Indices.slices(inputs, attributes.integer(Indices.BATCH)),
        List.of(
            "x=?[13] index=#[1]",
            "x=?[7,33] index=#[20,2]",
            "x=?[7,5,3] index=#[2,9,2]",
            "x=?[9,64] index=#[6,1]",
            "x=?[2,3,6,8] index=#[2,3,5,1] batchDims=2",
            "x=?[3,6,4] index=#[3,2] batchDims=1"));
  }

  private static Op scatterElements() {
    return new ScatterIndexedOp(
        new OpDescription(
            "scatter-elements",
            "Writes updates to elements by their index in one dimension.",
            List.of(
                x("[…, N, …]"),
                index(
                    "[…, M, …]",
                    "indices in the dimension axis; other extents are at most those of x"
                        + SKIPPED),
                updates("[…, M, …]")),
            List.of(AXIS, REDUCTION),
            List.of(y("[…, N, …]", "x with the updates")),
            "y = x; y[i, index[i, m, j], j] = reduction(y[i, index[i, m, j], j], updates[i, m, j])"
                + " for all i, m, j in order",
            "0"),
        Indices::elements,
        List.of(
            "x=?[13] index=#[40] updates=?[40]",
            "x=?[13] index=#[40] updates=?[40] reduction=add",
            "x=?[5,7] index=#[9,7] updates=?[9,7] reduction=max",
            "x=?[5,7] index=#[5,20] updates=?[5,20] axis=1 reduction=mul",
            "x=?[4,6,5] index=#[3,11,4] updates=?[3,11,4] axis=-2 reduction=min",
            "x=?[10,30] index=#[40,30] updates=?[40,30] reduction=add"));
  }

  private static Op scatterNd() {
    return new ScatterIndexedOp(
        new OpDescription(
            "scatter-nd",
            "Writes updates to slices by their indices in several dimensions.",
            List.of(
                x("[N1, …, NK, …]"),
                index("[…, K]", "indices in the first K dimensions" + SKIPPED),
                updates("[…, …]")),
            List.of(REDUCTION),
            List.of(y("[N1, …, NK, …]", "x with the updates")),
            "y = x; y[n, …] = reduction(y[n, …], updates[i, …]) with n = index[i, 0], …,"
                + " index[i, K−1], for all i in order",
            "0"),
        (inputs, _) -> Indices.slices(inputs, 0),
        List.of(
            "x=?[13] index=#[1] updates=?[]",
            "x=?[9,64] index=#[6,1] updates=?[6,64]",
            "x=?[7,5,3] index=#[2,19,2] updates=?[2,19,3] reduction=add",
            "x=?[6,4] index=#[20,2] updates=?[20] reduction=mul",
            "x=?[6,12] index=#[8,1] updates=?[8,12] reduction=min",
            "x=?[6,12] index=#[700,1] updates=?[700,12] reduction=max"));
  }
}
