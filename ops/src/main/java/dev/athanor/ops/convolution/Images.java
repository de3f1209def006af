package dev.athanor.ops.convolution;

import dev.athanor.ops.DType;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.List;

/**
 * A tensor of images with one to three spatial dimensions: {@code [N, C, …]}, or {@code [N, …, C]}
 * if channels are last.
 */
record Images(TensorType type, boolean channelsLast) {

  /** The attribute of the layout. */
  static final Attribute CHANNELS_LAST =
      Attribute.flag(
          "channelsLast", "whether channels are the last dimension of all tensors, not the second");

  /** The shapes of x in descriptions. */
  static final String SHAPES = "[N, C, L] or [N, C, H, W] or [N, C, D, H, W]";

  private static final int MOST_DIMENSIONS = 3;
  private static final long MOST = Integer.MAX_VALUE - 1024;

  /**
   * Returns an input.
   *
   * @throws OpException.ShapeMismatch if it has another number of dimensions
   */
  static Images of(String name, TensorType type, boolean channelsLast) {
    int rank = type.shape().rank() - 2;
    if (rank < 1 || rank > MOST_DIMENSIONS) {
      throw new OpException.ShapeMismatch(
          name,
          "input \"%s\" has shape %s; it must have 3 to 5 dimensions: %s"
              .formatted(
                  name,
                  type.shape(),
                  channelsLast
                      ? "images, one to three spatial dimensions, and channels"
                      : "images, channels, and one to three spatial dimensions"));
    }
    return new Images(type, channelsLast);
  }

  /** Returns the shape of images. */
  static Shape shape(long count, long channels, List<Long> spatial, boolean channelsLast) {
    var extents = new ArrayList<Long>(spatial);
    extents.add(channelsLast ? extents.size() : 0, channels);
    extents.addFirst(count);
    return new Shape(extents);
  }

  /**
   * Checks that kernels can index the elements of a tensor.
   *
   * @param first the first dimension to count: 1 for those of an image
   * @throws OpException.TooLarge if they cannot
   */
  static void requireIndexable(String input, Shape shape, int first) {
    double elements =
        shape.extents().stream()
            .skip(first)
            .mapToDouble(Long::doubleValue)
            .reduce(1, (a, b) -> a * b);
    if (elements > MOST) {
      throw new OpException.TooLarge(
          input,
          "input \"%s\" has shape %s; kernels index %s in 32 bits, and %.0f elements exceed the maximum of 2^31 - 1025"
              .formatted(input, shape, first == 0 ? "it" : "an image", elements));
    }
  }

  DType dtype() {
    return type.dtype();
  }

  /** Returns the number of spatial dimensions. */
  int rank() {
    return type.shape().rank() - 2;
  }

  long count() {
    return type.shape().extent(0);
  }

  long channels() {
    return type.shape().extent(channelsLast ? -1 : 1);
  }

  /** Returns the extent of a spatial dimension. */
  long extent(int dimension) {
    return type.shape().extent(dimension + (channelsLast ? 1 : 2));
  }
}
