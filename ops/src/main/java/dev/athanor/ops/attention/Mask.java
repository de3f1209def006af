package dev.athanor.ops.attention;

import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The input {@code mask}, whose rows broadcast to the queries of all heads and batches.
 *
 * @param dtype bool, where true means that a query sees a key, or the dtype of a bias
 * @param rows of all queries, heads and batches
 * @param batchRows distance in rows between two batches; 0 if they share the mask
 * @param headRows distance in rows between two heads
 * @param queryRows distance in rows between two queries
 */
public record Mask(DType dtype, int rows, int batchRows, int headRows, int queryRows) {

  public static final String NAME = "mask";

  public static final Set<DType> DTYPES = Set.of(DType.F32, DType.F16, DType.BF16, DType.BOOL);

  /** The description of the input, before the extents of a call. */
  public static final String MEANING =
      "a bias to add to the scores, after the softcap, or bool: whether a query sees a key. A bias"
          + " of -infinity hides a key. Its shape broadcasts to that of the scores: each extent but"
          + " the last may be 1, and leading extents may be omitted";

  /**
   * Returns the mask of a call; empty if none is given.
   *
   * @param leading the dimensions of the scores before the last two: none, batches, or batches and
   *     heads
   * @throws OpException if its shape does not broadcast to that of the scores
   */
  public static Optional<Mask> of(
      Map<String, TensorType> inputs, Shape leading, int queries, int keys) {
    var type = inputs.get(NAME);
    if (type == null) {
      return Optional.empty();
    }
    var shape = type.shape();
    var scores = leading.with(queries, keys);
    if (!broadcasts(shape, scores)) {
      throw new OpException.ShapeMismatch(
          NAME,
          "input \"mask\" has shape %s; it must broadcast to the scores %s: each extent but the last may be 1"
              .formatted(shape, scores));
    }
    long rows = shape.leading(1).elements();
    if (rows > Integer.MAX_VALUE) {
      throw new OpException.TooLarge(
          NAME,
          "input \"mask\" has shape %s with %d rows; the maximum is 2^31 - 1"
              .formatted(shape, rows));
    }
    int ofHead = (int) shape.extent(-2);
    boolean hasHeads = leading.rank() == 2 && shape.rank() > 2;
    int ofBatch = hasHeads ? (int) shape.extent(-3) * ofHead : ofHead;
    return Optional.of(
        new Mask(
            type.dtype(),
            (int) rows,
            rows > ofBatch ? ofBatch : 0,
            ofBatch > ofHead ? ofHead : 0,
            ofHead > 1 ? 1 : 0));
  }

  private static boolean broadcasts(Shape shape, Shape scores) {
    int rank = shape.rank();
    if (rank < 2 || rank > scores.rank() || shape.extent(-1) != scores.extent(-1)) {
      return false;
    }
    for (int i = 2; i <= rank; i++) {
      if (shape.extent(-i) != 1 && shape.extent(-i) != scores.extent(-i)) {
        return false;
      }
    }
    return true;
  }

  /** Returns whether the mask is a bias. */
  public static boolean isBias(DType dtype) {
    return dtype != DType.BOOL;
  }

  /** Returns the PTX type of the elements. */
  public static Type type(DType dtype) {
    return isBias(dtype) ? FlashVariant.type(dtype) : Type.U8;
  }

  /** Returns the row of a query. */
  public long row(long batch, long head, long query) {
    return batch * batchRows + head * headRows + query * queryRows;
  }

  /** Returns the bias that an element stands for; -infinity for a hidden key. */
  public double bias(double element) {
    return isBias(dtype) ? element : element == 0 ? Double.NEGATIVE_INFINITY : 0;
  }
}
