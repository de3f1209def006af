package dev.athanor.ops.problem;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;

/** What several ops ask of their inputs. */
public final class Checks {

  /** Numbers of elements along a dimension, and of threads, are 32-bit integers in kernels. */
  private static final int MOST = Integer.MAX_VALUE - 1024;

  private Checks() {}

  /**
   * The type of an output.
   *
   * @throws OpException.TooLarge when its size in bytes does not fit 63 bits
   */
  public static TensorType output(String name, DType dtype, Shape shape) {
    try {
      var type = new TensorType(dtype, shape);
      Math.multiplyExact(shape.elements(), (long) dtype.bytes());
      return type;
    } catch (ArithmeticException e) {
      throw new OpException.TooLarge(
          name,
          "output \"%s\" would be %s%s; 2^63 - 1 bytes are the most"
              .formatted(name, dtype.text(), shape));
    }
  }

  /**
   * Checks that two inputs have one dtype.
   *
   * @throws OpException.UnsupportedDType when they do not
   */
  public static void sameDType(String a, TensorType first, String b, TensorType second) {
    if (first.dtype() != second.dtype()) {
      throw new OpException.UnsupportedDType(
          b,
          "%s is %s but %s is %s; they must be the same"
              .formatted(a, first.dtype().text(), b, second.dtype().text()));
    }
  }

  /**
   * The dimension that an attribute names, counted from 0.
   *
   * @throws OpException.InvalidAttribute when the shape has no such dimension
   */
  public static int axis(Attributes attributes, String name, String input, Shape shape) {
    long axis = attributes.integer(name);
    if (axis < -shape.rank() || axis >= shape.rank()) {
      throw new OpException.InvalidAttribute(
          name,
          shape.rank() == 0
              ? "attribute \"%s\" is %d but %s is a scalar, which has no dimensions"
                  .formatted(name, axis, input)
              : "attribute \"%s\" is %d but %s has shape %s; its dimensions are %d to %d"
                  .formatted(name, axis, input, shape, -shape.rank(), shape.rank() - 1));
    }
    return (int) (axis < 0 ? axis + shape.rank() : axis);
  }

  /**
   * A number of rows, columns or steps as a kernel counts them.
   *
   * @throws OpException.TooLarge when it is 2^31 - 1024 or more
   */
  public static int count(String input, Shape shape, long count) {
    if (count > Integer.MAX_VALUE - 1024) {
      throw new OpException.TooLarge(
          input,
          "input \"%s\" has shape %s; kernels count at most 2^31 - 1025 elements along one direction, here %d"
              .formatted(input, shape, count));
    }
    return (int) count;
  }

  /**
   * Checks the size of a dimension of what is stored in a tensor.
   *
   * @throws OpException.TooLarge when kernels could not count it
   */
  public static int requireExtent(String name, TensorType tensor, long extent) {
    if (extent > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s; 2^31 - 1025 is the most for a dimension"
              .formatted(name, tensor.shape()));
    }
    return (int) extent;
  }

  /** Checks how many threads of a flat grid a tensor takes. */
  public static int requireThreads(String name, TensorType tensor, long threads) {
    if (threads > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s, which takes %d threads; 2^31 - 1025 are the most"
              .formatted(name, tensor.shape(), threads));
    }
    return (int) threads;
  }
}
