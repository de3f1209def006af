package dev.athanor.ops.linear;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * Which matrices of a and b are multiplied: their leading dimensions, broadcast against each other,
 * as few nested loops.
 *
 * @param shape the leading dimensions of the product
 * @param loops outermost first; without any there is one product
 */
public record Batch(Shape shape, List<Loop> loops) {

  /**
   * A loop over products.
   *
   * @param strideA how many matrices further a is in the next product: 0 where it is broadcast
   */
  public record Loop(long count, long strideA, long strideB) {}

  public Batch {
    loops = List.copyOf(loops);
  }

  /**
   * Aligns two lists of leading dimensions at their ends; where one has 1 or nothing it is
   * repeated.
   *
   * @throws OpException.ShapeMismatch where neither is 1 and they differ
   */
  public static Batch of(Shape a, Shape b) {
    int rank = Math.max(a.rank(), b.rank());
    var extents = new long[rank];
    var loops = new ArrayList<Loop>();
    long strideA = 1;
    long strideB = 1;
    for (int i = 1; i <= rank; i++) {
      long extentA = i <= a.rank() ? a.extent(-i) : 1;
      long extentB = i <= b.rank() ? b.extent(-i) : 1;
      if (extentA != extentB && extentA != 1 && extentB != 1) {
        throw new OpException.ShapeMismatch(
            "b",
            "the leading dimensions %s of a and %s of b do not go together; each pair must be equal or one of it 1"
                .formatted(a, b));
      }
      long count = Math.max(extentA, extentB);
      extents[rank - i] = count;
      if (count > 1) {
        add(loops, new Loop(count, extentA == 1 ? 0 : strideA, extentB == 1 ? 0 : strideB));
      }
      strideA = Math.multiplyExact(strideA, extentA);
      strideB = Math.multiplyExact(strideB, extentB);
    }
    return new Batch(Shape.of(extents), loops.reversed());
  }

  /** Adds a loop around the others, or lengthens the outermost where the steps go on alike. */
  private static void add(List<Loop> loops, Loop outer) {
    if (!loops.isEmpty()) {
      var last = loops.getLast();
      if (outer.strideA == last.count * last.strideA
          && outer.strideB == last.count * last.strideB) {
        loops.set(loops.size() - 1, new Loop(last.count * outer.count, last.strideA, last.strideB));
        return;
      }
    }
    loops.add(outer);
  }

  /** The innermost loop, which one launch covers. */
  public Loop inner() {
    return loops.isEmpty() ? new Loop(1, 0, 0) : loops.getLast();
  }

  /** Returns how many different matrices a has: one that is broadcast counts once. */
  public long matricesOfA() {
    return matrices(Loop::strideA);
  }

  /** Returns how many different matrices b has: one that is broadcast counts once. */
  public long matricesOfB() {
    return matrices(Loop::strideB);
  }

  private long matrices(ToLongFunction<Loop> stride) {
    return loops.stream()
        .filter(loop -> stride.applyAsLong(loop) != 0)
        .mapToLong(Loop::count)
        .reduce(Math.min(1, shape.elements()), Math::multiplyExact);
  }

  /** Where each launch begins: the numbers of its first matrices in a, b and c. */
  public List<Start> starts() {
    var starts = List.of(new Start(0, 0, 0));
    long perLaunch = inner().count;
    for (int i = 0; i < loops.size() - 1; i++) {
      var loop = loops.get(i);
      long products =
          loops.subList(i + 1, loops.size()).stream()
              .mapToLong(Loop::count)
              .reduce(1, (x, y) -> x * y);
      var next = new ArrayList<Start>();
      for (var start : starts) {
        for (long n = 0; n < loop.count; n++) {
          next.add(
              new Start(
                  start.a + n * loop.strideA, start.b + n * loop.strideB, start.c + n * products));
        }
      }
      starts = next;
    }
    return perLaunch == 0 ? List.of() : starts;
  }

  /** The numbers of matrices. */
  public record Start(long a, long b, long c) {}
}
