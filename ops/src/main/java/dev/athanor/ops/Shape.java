package dev.athanor.ops;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/** The extents of a tensor, outermost first; empty for a scalar. */
public record Shape(List<Long> extents) {

  public Shape {
    extents = List.copyOf(extents);
  }

  public static Shape of(long... extents) {
    return new Shape(LongStream.of(extents).boxed().toList());
  }

  public int rank() {
    return extents.size();
  }

  /** Returns an extent; negative indices count from the end: -1 is the innermost. */
  public long extent(int index) {
    return extents.get(index < 0 ? rank() + index : index);
  }

  /** Returns the outermost {@code rank() - inner} extents. */
  public Shape leading(int inner) {
    return new Shape(extents.subList(0, rank() - inner));
  }

  /** Returns this shape with inner extents appended. */
  public Shape with(long... inner) {
    var all = new ArrayList<>(extents);
    LongStream.of(inner).forEach(all::add);
    return new Shape(all);
  }

  /**
   * Returns the number of elements.
   *
   * @throws ArithmeticException if it is 2^63 or greater
   */
  public long elements() {
    long product = 1;
    for (long extent : extents) {
      product = Math.multiplyExact(product, extent);
    }
    return product;
  }

  /** Returns text such as {@code [2, 3]}. */
  @Override
  public String toString() {
    return extents.toString();
  }
}
