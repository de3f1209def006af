package dev.athanor.client;

import java.util.List;

/** An input of an operation: a tensor on the device, values on the host, or a pipeline's value. */
public sealed interface Operand permits HostTensor, Tensor, Reshaped, Pipeline.Value {

  /**
   * Returns a view of this operand in another shape with as many elements. Nothing is copied.
   *
   * @throws UnsupportedOperationException if this is an intermediate value of a pipeline
   */
  Operand reshape(long... shape);

  /** Checks that a shape has as many elements as another, and returns it as a list. */
  static List<Long> reshaped(List<Long> shape, long... other) {
    var result = Shapes.list(other);
    if (Shapes.elements(result) != Shapes.elements(shape)) {
      throw new IllegalArgumentException(
          "Cannot reshape %s to %s: the numbers of elements differ.".formatted(shape, result));
    }
    return result;
  }
}
