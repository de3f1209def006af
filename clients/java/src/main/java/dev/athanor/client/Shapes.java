package dev.athanor.client;

import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Shape arithmetic. A shape lists the extents, outermost first; it is empty for a scalar. */
final class Shapes {

  private Shapes() {}

  static List<Long> list(long... extents) {
    var shape = Arrays.stream(extents).boxed().toList();
    if (shape.stream().anyMatch(extent -> extent < 0)) {
      throw new IllegalArgumentException("Extents must be at least 0, not %s.".formatted(shape));
    }
    return shape;
  }

  static long elements(List<Long> shape) {
    long elements = 1;
    for (long extent : shape) {
      elements = Math.multiplyExact(elements, extent);
    }
    return elements;
  }

  static long bytes(DType dtype, List<Long> shape) {
    long elements = elements(shape);
    long last = shape.isEmpty() ? 1 : shape.get(shape.size() - 1);
    if (last % dtype.blockElements() != 0) {
      throw new IllegalArgumentException(
          "The last extent of %s must be a multiple of %d for %s."
              .formatted(shape, dtype.blockElements(), dtype.text()));
    }
    return Math.multiplyExact(elements / dtype.blockElements(), (long) dtype.blockBytes());
  }

  /** Joins the extents by commas: {@code 2,3}. */
  static String text(List<Long> shape) {
    return shape.stream().map(String::valueOf).collect(Collectors.joining(","));
  }
}
