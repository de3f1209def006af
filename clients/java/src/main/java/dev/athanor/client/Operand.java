package dev.athanor.client;

import java.util.List;

/** An input of an operation: a tensor on the device, a host tensor, or a pipeline's value. */
public sealed interface Operand permits HostTensor, Tensor, TensorView, Pipeline.Value {

  /**
   * Returns a view of this operand in another shape with the same number of elements.
   *
   * @throws UnsupportedOperationException if this is a view with strides
   */
  Operand reshape(long... shape);

  /** Checks that two shapes have the same number of elements, and returns the other as a list. */
  static List<Long> reshaped(List<Long> shape, long... other) {
    var result = Shapes.list(other);
    if (Shapes.elements(result) != Shapes.elements(shape)) {
      throw new IllegalArgumentException(
          "Cannot reshape %s to %s: the numbers of elements differ.".formatted(shape, result));
    }
    return result;
  }
}
