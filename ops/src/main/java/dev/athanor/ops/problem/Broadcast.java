package dev.athanor.ops.problem;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Broadcasting as in NumPy: shapes are aligned at their ends, and extents of 1 are repeated. */
public final class Broadcast {

  private Broadcast() {}

  /**
   * Returns the shape to which tensors broadcast.
   *
   * @param names of the tensors, for the message
   * @throws OpException.ShapeMismatch if two extents of a dimension differ and neither is 1
   */
  public static Shape shape(List<String> names, List<Shape> shapes) {
    var extents = new long[shapes.stream().mapToInt(Shape::rank).max().orElse(0)];
    Arrays.fill(extents, 1);
    for (int t = 0; t < shapes.size(); t++) {
      var shape = shapes.get(t);
      for (int i = 1; i <= shape.rank(); i++) {
        int at = extents.length - i;
        long extent = shape.extent(-i);
        if (extent != extents[at] && extent != 1 && extents[at] != 1) {
          throw new OpException.ShapeMismatch(
              names.get(t),
              "%s and %s %s cannot be broadcast: counted from the last, each pair of extents must be equal or contain a 1"
                  .formatted(
                      IntStream.range(0, t)
                          .mapToObj(other -> names.get(other) + " " + shapes.get(other))
                          .collect(Collectors.joining(", ")),
                      names.get(t),
                      shape));
        }
        extents[at] = extents[at] == 1 ? extent : extents[at];
      }
    }
    return Shape.of(extents);
  }

  /**
   * Returns the row-major index of a tensor's element that is broadcast to an element of a result.
   *
   * @param element a row-major index in the result
   */
  public static long index(Shape tensor, long element, Shape result) {
    long index = 0;
    long step = 1;
    long rest = element;
    for (int i = 1; i <= tensor.rank(); i++) {
      index += tensor.extent(-i) == 1 ? 0 : rest % result.extent(-i) * step;
      rest /= result.extent(-i);
      step *= tensor.extent(-i);
    }
    return index;
  }
}
