package dev.athanor.ops.map;

import dev.athanor.ops.Shape;
import java.util.List;

/**
 * A part of the elements of a result that one launch computes, with 32-bit indices.
 *
 * @param loops loops over the elements, with the strides of the operands
 * @param first index of the first element in the result
 * @param starts offset of each operand, in elements
 */
public record Part(Loops loops, long first, List<Long> starts) {

  public Part {
    starts = List.copyOf(starts);
  }

  /**
   * Returns the parts of a result in order.
   *
   * @param operands shapes that broadcast to the result as in NumPy
   * @param most maximum number of elements of a part
   */
  public static List<Part> of(Shape result, List<Shape> operands, long most) {
    return Loops.broadcast(result, operands).parts(most).stream()
        .map(part -> new Part(part.loops(), part.first(), part.starts()))
        .toList();
  }

  /** Returns the number of elements. */
  public long elements() {
    return loops.elements();
  }

  /**
   * Returns the widest vector, in elements, to which every row is aligned.
   *
   * @param widest a power of two
   */
  public int vector(int widest) {
    var inner = loops.inner();
    // a single loop computes the remainder one by one; with several, the vector divides the inner
    long steps = first | (loops.rank() == 1 ? 0 : inner.count());
    for (int o = 0; o < starts.size(); o++) {
      steps |= inner.strides().get(o) == 1 ? starts.get(o) : 0;
    }
    return (int) Long.lowestOneBit(steps | widest);
  }
}
