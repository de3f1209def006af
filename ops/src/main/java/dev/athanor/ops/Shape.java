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

  /** An extent; negative indices count from the end, -1 is the innermost. */
  public long extent(int index) {
    return extents.get(index < 0 ? rank() + index : index);
  }

  /** The outermost {@code rank() - inner} extents. */
  public Shape leading(int inner) {
    return new Shape(extents.subList(0, rank() - inner));
  }

  /** This shape with further extents inside. */
  public Shape with(long... inner) {
    var all = new ArrayList<>(extents);
    LongStream.of(inner).forEach(all::add);
    return new Shape(all);
  }

  /**
   * How many elements there are.
   *
   * @throws ArithmeticException when there are more than 2^63
   */
  public long elements() {
    long product = 1;
    for (long extent : extents) {
      product = Math.multiplyExact(product, extent);
    }
    return product;
  }

  /** {@code [2, 3]}. */
  @Override
  public String toString() {
    return extents.toString();
  }
}
