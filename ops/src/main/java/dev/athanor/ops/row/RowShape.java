package dev.athanor.ops.row;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * An input tensor as a list of rows.
 *
 * @param name name of the input
 * @param tensor type of the input
 * @param rows number of rows
 * @param n number of elements of a row
 */
public record RowShape(String name, TensorType tensor, int rows, int n) {

  /** The dtypes of rows. */
  public static final Set<DType> DTYPES = Set.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** The dtypes of rows with arithmetic in f32. */
  public static final Set<DType> SINGLE = Set.of(DType.F32, DType.F16, DType.BF16);

  private static final int MOST_BYTES = 16;

  /** Maximum number of rows, and of elements of a row: an index may exceed them by a step. */
  private static final int MOST = Integer.MAX_VALUE - 0xFFFF;

  /** Returns the type of a required input. */
  public static TensorType input(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /**
   * Returns the rows of an input along its last dimension.
   *
   * @throws OpException.ShapeMismatch if the input is a scalar
   * @throws OpException.TooLarge if there are too many rows or elements of a row
   */
  public static RowShape of(Map<String, TensorType> inputs, String name) {
    return of(inputs, name, 1);
  }

  /**
   * Returns the rows of an input, each of which consists of its last dimensions.
   *
   * @throws OpException.ShapeMismatch if the input has fewer dimensions
   * @throws OpException.TooLarge if there are too many rows or elements of a row
   */
  public static RowShape of(Map<String, TensorType> inputs, String name, int dimensions) {
    var tensor = input(inputs, name);
    int rank = tensor.shape().rank();
    if (rank < dimensions) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s; it must have at least %d dimension%s"
              .formatted(name, tensor.shape(), dimensions, dimensions == 1 ? "" : "s"));
    }
    long rows = tensor.shape().leading(dimensions).elements();
    long n = new Shape(tensor.shape().extents().subList(rank - dimensions, rank)).elements();
    return of(name, tensor, rows, n);
  }

  /**
   * Returns the rows of an input whose consecutive elements are divided into rows of equal length.
   *
   * @throws OpException.TooLarge if there are too many rows or elements of a row
   */
  public static RowShape of(String name, TensorType tensor, long rows, long n) {
    if (rows > MOST || n > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s, which is %d rows of %d elements; the maximum of either is %d"
              .formatted(name, tensor.shape(), rows, n, MOST));
    }
    return new RowShape(name, tensor, (int) rows, (int) n);
  }

  /** Returns the rank of the input x. */
  public static int rank(Map<String, TensorType> inputs) {
    return input(inputs, "x").shape().rank();
  }

  /**
   * Returns how calls of an op on rows of x are batched, for {@link dev.athanor.ops.Op#rows}.
   *
   * @param own inputs with the rows of x; all rows share the other inputs
   */
  public static Optional<Rows> rows(Map<String, TensorType> inputs, Set<String> own) {
    return rank(inputs) < 2 ? Optional.empty() : Optional.of(new Rows(own, true));
  }

  /** Returns the dtype of the rows. */
  public DType dtype() {
    return tensor.dtype();
  }

  /** Returns the argument of a scalar parameter, in the type of arithmetic. */
  public Slot scalar(double value) {
    return dtype() == DType.F64 ? Slot.of(value) : Slot.of((float) value);
  }

  /** Returns the number of registers of 32 bits that an element takes. */
  int registers() {
    return dtype() == DType.F64 ? 2 : 1;
  }

  /**
   * Returns the number of elements per access, up to 16 bytes: a power of two that divides the
   * length, so that every row is aligned to it.
   *
   * @param length of the rows
   */
  public int access(int length) {
    return Math.min(Integer.lowestOneBit(length), MOST_BYTES / dtype().bytes());
  }
}
