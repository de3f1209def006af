package dev.athanor.client;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Some elements of a tensor on the device, or of a pipeline's value, as another tensor.
 *
 * @param of the tensor or the value
 * @param offset the index of the first element; null for all elements in another shape
 * @param strides the distance of elements along each dimension; empty for dense elements
 */
record TensorView(Operand of, List<Long> shape, @Nullable Long offset, List<Long> strides)
    implements Operand {

  /** Returns a view of all elements in another shape. */
  static TensorView reshaped(Operand of, List<Long> shape) {
    return new TensorView(of, shape, null, List.of());
  }

  /** Returns a view of some elements. */
  static TensorView part(Operand of, long[] shape, long offset, long... strides) {
    if (strides.length > 0 && strides.length != shape.length) {
      throw new IllegalArgumentException(
          "A view of %d dimensions needs as many strides, or none, but has %d."
              .formatted(shape.length, strides.length));
    }
    return new TensorView(of, Shapes.list(shape), offset, Shapes.list(strides));
  }

  @Override
  public Operand reshape(long... other) {
    if (!strides.isEmpty()) {
      throw new UnsupportedOperationException("A view with strides cannot be reshaped.");
    }
    return new TensorView(of, Operand.reshaped(shape, other), offset, strides);
  }
}
