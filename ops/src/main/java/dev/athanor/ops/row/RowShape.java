package dev.athanor.ops.row;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;

/**
 * A tensor as rows along its last dimension, and what other tensors must be beside it.
 *
 * @param n elements of a row
 */
public record RowShape(String name, TensorType tensor, int rows, int n) {

  /** What rows may be made of. */
  public static final Set<DType> DTYPES = Set.of(DType.F32, DType.F16, DType.BF16);

  private static final int MOST_BYTES = 16;

  /** The most rows, and the most elements of one: an index goes a step beyond them. */
  private static final int MOST = Integer.MAX_VALUE - 0xFFFF;

  /** The input of this name, which must be there. */
  public static TensorType input(Map<String, TensorType> inputs, String name) {
    return Objects.requireNonNull(inputs.get(name), name);
  }

  /** The rows of an input. */
  public static RowShape of(Map<String, TensorType> inputs, String name) {
    return of(inputs, name, 1);
  }

  /** The rows of an input that are its last dimensions. */
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
    if (rows > MOST || n > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s, which is %d rows of %d elements; %d is the most for either"
              .formatted(name, tensor.shape(), rows, n, MOST));
    }
    return new RowShape(name, tensor, (int) rows, (int) n);
  }

  public static int rank(Map<String, TensorType> inputs) {
    return input(inputs, "x").shape().rank();
  }

  /** Of several rows those that have inputs of their own. */
  public static Optional<Rows> rows(Map<String, TensorType> inputs, Set<String> own) {
    return rank(inputs) < 2 ? Optional.empty() : Optional.of(new Rows(own));
  }

  public DType dtype() {
    return tensor.dtype();
  }

  /** How many consecutive elements one access moves, of what has rows of a length. */
  public int access(int length) {
    return Math.min(Integer.lowestOneBit(length), MOST_BYTES / dtype().bytes());
  }

  /** Checks that another input has the type of this one. */
  public void same(Map<String, TensorType> inputs, String other) {
    sameDType(inputs, other);
    sameShape(inputs, other);
  }

  public void sameShape(Map<String, TensorType> inputs, String other) {
    var type = input(inputs, other);
    if (!type.shape().equals(tensor.shape())) {
      throw new OpException.ShapeMismatch(
          other,
          "%s has shape %s but %s has %s; they must be the same"
              .formatted(other, type.shape(), name, tensor.shape()));
    }
  }

  private void sameDType(Map<String, TensorType> inputs, String other) {
    var type = input(inputs, other);
    if (type.dtype() != dtype()) {
      throw new OpException.UnsupportedDType(
          other,
          "%s is %s but %s is %s; they must be the same"
              .formatted(other, type.dtype().text(), name, dtype().text()));
    }
  }

  /** The dtype of an input that all rows share: that of the rows, or f32. */
  public DType shared(Map<String, TensorType> inputs, String other) {
    var type = input(inputs, other).dtype();
    if (type != dtype() && type != DType.F32) {
      throw new OpException.UnsupportedDType(
          other,
          "%s is %s but %s is %s; it must be that or f32"
              .formatted(other, type.text(), name, dtype().text()));
    }
    return type;
  }

  /** The dtype of weights, one for each element of a row. */
  public DType weights(Map<String, TensorType> inputs, String other) {
    var type = input(inputs, other);
    if (!type.shape().equals(Shape.of(n))) {
      throw new OpException.ShapeMismatch(
          other,
          "%s has shape %s; it must be [N] = [%d], as rows of %s are"
              .formatted(other, type.shape(), n, name));
    }
    return shared(inputs, other);
  }
}
