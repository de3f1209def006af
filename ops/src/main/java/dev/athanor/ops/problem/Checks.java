package dev.athanor.ops.problem;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;

/** Checks of inputs that several ops share. */
public final class Checks {

  /** Maximum extents and numbers of threads: kernels count them in 32 bits. */
  private static final int MOST = Integer.MAX_VALUE - 1024;

  /** Maximum number of launches of a plan. */
  private static final long MAX_LAUNCHES = 1 << 16;

  private Checks() {}

  /**
   * Returns the type of an output.
   *
   * @throws OpException.TooLarge if its size in bytes exceeds 2^63 - 1
   */
  public static TensorType output(String name, DType dtype, Shape shape) {
    return type("output \"%s\"".formatted(name), name, dtype, shape);
  }

  /**
   * Returns the type of an output or another tensor that a call allocates.
   *
   * @param tensor for the message, such as {@code output "y"}
   * @throws OpException.TooLarge if its size in bytes exceeds 2^63 - 1
   */
  public static TensorType type(String tensor, String name, DType dtype, Shape shape) {
    var type = new TensorType(dtype, shape);
    if (!type.hasSize()) {
      throw new OpException.TooLarge(
          name,
          "%s would be %s%s; the maximum is 2^63 - 1 bytes".formatted(tensor, dtype.text(), shape));
    }
    return type;
  }

  /**
   * Checks that two inputs have the same dtype.
   *
   * @throws OpException.UnsupportedDType if they do not
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
   * Returns the dimension that an attribute names, counted from 0.
   *
   * @throws OpException.InvalidAttribute if the shape has no such dimension
   */
  public static int axis(Attributes attributes, String name, String input, Shape shape) {
    return axis(attributes.integer(name), name, input, shape);
  }

  /**
   * Returns the dimension with a number, counted from 0.
   *
   * @param name of the attribute, for messages
   * @throws OpException.InvalidAttribute if the shape has no such dimension
   */
  public static int axis(long axis, String name, String input, Shape shape) {
    return axis(name, "is", axis, input, shape);
  }

  /**
   * Returns the dimensions that a list names, each counted from 0.
   *
   * @throws OpException.InvalidAttribute if the shape lacks one, or one is named twice
   */
  public static List<Integer> axes(Attributes attributes, String name, String input, Shape shape) {
    var axes = new ArrayList<Integer>();
    for (long each : attributes.integers(name)) {
      int axis = axis(name, "contains", each, input, shape);
      if (axes.contains(axis)) {
        throw new OpException.InvalidAttribute(
            name,
            "attribute \"%s\" is %s, which names dimension %d of %s twice; name each at most once"
                .formatted(name, attributes.integers(name), axis, input));
      }
      axes.add(axis);
    }
    return axes;
  }

  private static int axis(String name, String verb, long axis, String input, Shape shape) {
    if (axis < -shape.rank() || axis >= shape.rank()) {
      throw new OpException.InvalidAttribute(
          name,
          shape.rank() == 0
              ? "attribute \"%s\" %s %d but %s is a scalar, which has no dimensions"
                  .formatted(name, verb, axis, input)
              : "attribute \"%s\" %s %d but %s has shape %s; its dimensions are %d to %d"
                  .formatted(name, verb, axis, input, shape, -shape.rank(), shape.rank() - 1));
    }
    return (int) (axis < 0 ? axis + shape.rank() : axis);
  }

  /**
   * Returns a number attribute, rounded to f32.
   *
   * @throws OpException.InvalidAttribute if that is infinite
   */
  public static float single(Attributes attributes, String name) {
    double number = attributes.number(name);
    float single = (float) number;
    if (Float.isInfinite(single)) {
      throw new OpException.InvalidAttribute(
          name, "attribute \"%s\" must be in the range of f32, got %s".formatted(name, number));
    }
    return single;
  }

  /**
   * Checks the number of values of a list.
   *
   * @param what what each value is for, such as {@code dimension of x}
   * @throws OpException.InvalidAttribute if it is another number
   */
  public static void requireLength(Attributes attributes, String name, int length, String what) {
    var values = attributes.integers(name);
    if (values.size() != length) {
      throw new OpException.InvalidAttribute(
          name,
          "attribute \"%s\" is %s; give one value for each %s, %d in all"
              .formatted(name, values, what, length));
    }
  }

  /**
   * Returns a size, such as a number of rows, as the 32-bit integer that kernels use.
   *
   * @throws OpException.TooLarge if it exceeds 2^31 - 1025
   */
  public static int count(String input, Shape shape, long count) {
    if (count > Integer.MAX_VALUE - 1024) {
      throw new OpException.TooLarge(
          input,
          "input \"%s\" has shape %s; the kernel uses 32-bit indices, and %d exceeds the maximum of 2^31 - 1025"
              .formatted(input, shape, count));
    }
    return (int) count;
  }

  /**
   * Returns the extent of an unpacked dimension, checked.
   *
   * @throws OpException.TooLarge if it exceeds 2^31 - 1025
   */
  public static int requireExtent(String name, TensorType tensor, long extent) {
    if (extent > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s; the maximum extent is 2^31 - 1025"
              .formatted(name, tensor.shape()));
    }
    return (int) extent;
  }

  /**
   * Returns the number of threads of a one-dimensional grid, checked.
   *
   * @throws OpException.TooLarge if it exceeds 2^31 - 1025
   */
  public static int requireThreads(String name, TensorType tensor, long threads) {
    if (threads > MOST) {
      throw new OpException.TooLarge(
          name,
          "input \"%s\" has shape %s, which requires %d threads; the maximum is 2^31 - 1025"
              .formatted(name, tensor.shape(), threads));
    }
    return (int) threads;
  }

  /**
   * Checks the number of launches of a plan before it is built.
   *
   * @param what the tensors, for the message
   * @throws OpException.TooLarge if it exceeds 65,536
   */
  public static void requireLaunches(String name, String what, long launches) {
    if (launches > MAX_LAUNCHES) {
      throw new OpException.TooLarge(
          name,
          "%s would require %d launches; the maximum is %d"
              .formatted(what, launches, MAX_LAUNCHES));
    }
  }
}
