package dev.athanor.ops.linear;

import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.stream.LongStream;

/**
 * The batch dimensions of a product: the leading dimensions of a and b, broadcast against each
 * other, as the minimum number of nested loops.
 *
 * @param shape the leading dimensions of the product
 * @param loops outermost first; empty for a single product
 */
public record Batch(Shape shape, List<Loop> loops) {

  /**
   * A loop over products.
   *
   * @param strideA stride of a between consecutive products, in matrices; 0 if a is broadcast
   */
  public record Loop(long count, long strideA, long strideB) {}

  public Batch {
    loops = List.copyOf(loops);
  }

  /**
   * Broadcasts two lists of leading dimensions, aligned at their ends; extents of 1 and missing
   * extents are repeated.
   *
   * @throws OpException.ShapeMismatch if two extents differ and neither is 1
   * @throws OpException.TooLarge if the products require too many launches
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
            "the leading dimensions %s of a and %s of b cannot be broadcast; each pair must be equal or contain a 1"
                .formatted(a, b));
      }
      long count = extentA == 1 ? extentB : extentA;
      extents[rank - i] = count;
      if (count > 1) {
        add(loops, new Loop(count, extentA == 1 ? 0 : strideA, extentB == 1 ? 0 : strideB));
      }
      strideA = Math.multiplyExact(strideA, extentA);
      strideB = Math.multiplyExact(strideB, extentB);
    }
    var batch = new Batch(Shape.of(extents), loops.reversed());
    Checks.requireLaunches(
        "b",
        "a product with the leading dimensions %s of a and %s of b".formatted(a, b),
        batch.launches());
    return batch;
  }

  /** Adds a loop around the others, or merges it into the outermost if the strides continue. */
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

  /** Returns the innermost loop; without one, a loop over a single product. */
  public Loop inner() {
    return fromInnermost(0);
  }

  /** Returns the number of distinct matrices of a; broadcast matrices count once. */
  public long matricesOfA() {
    return matrices(Loop::strideA);
  }

  /** Returns the number of distinct matrices of b; broadcast matrices count once. */
  public long matricesOfB() {
    return matrices(Loop::strideB);
  }

  private long matrices(ToLongFunction<Loop> stride) {
    return loops.stream()
        .filter(loop -> stride.applyAsLong(loop) != 0)
        .mapToLong(Loop::count)
        .reduce(Math.min(1, shape.elements()), Math::multiplyExact);
  }

  /** Returns the loop around the innermost one; one launch covers both. */
  public Loop outer() {
    return fromInnermost(1);
  }

  private Loop fromInnermost(int index) {
    return index < loops.size() ? loops.reversed().get(index) : new Loop(1, 0, 0);
  }

  /**
   * Returns the batch without the innermost loop, whose matrices of a become the rows of a single
   * matrix.
   *
   * @throws IllegalStateException if the matrices of a are not consecutive in that loop
   */
  Batch withoutInner() {
    var inner = inner();
    if (inner.strideA != 1) {
      throw new IllegalStateException("the matrices of a are not consecutive in " + inner);
    }
    var outer =
        loops.subList(0, loops.size() - 1).stream()
            // unless a is broadcast, a loop strides over whole inner loops
            .map(loop -> new Loop(loop.count, loop.strideA / inner.count, loop.strideB))
            .toList();
    return new Batch(Shape.of(outer.stream().mapToLong(Loop::count).toArray()), outer);
  }

  /** Returns the number of products. */
  public long products() {
    return shape.elements();
  }

  /** Returns the number of products per launch. */
  public long productsPerLaunch() {
    return Math.multiplyExact(outer().count, inner().count);
  }

  private long launches() {
    return products() / productsPerLaunch();
  }

  /** Returns the first matrices of each launch: the loops around the two innermost ones. */
  public List<Start> starts() {
    long perLaunch = productsPerLaunch();
    return LongStream.range(0, launches())
        .mapToObj(launch -> matrices(launch * perLaunch))
        .toList();
  }

  /** Returns the matrices of a product; its number is also the index of its matrix in c. */
  public Start matrices(long product) {
    long a = 0;
    long b = 0;
    long rest = product;
    for (var loop : loops.reversed()) {
      long index = rest % loop.count;
      rest /= loop.count;
      a += index * loop.strideA;
      b += index * loop.strideB;
    }
    return new Start(a, b, product);
  }

  /** Returns the same products with the roles of a and b exchanged. */
  public Batch swapped() {
    return new Batch(
        shape,
        loops.stream().map(loop -> new Loop(loop.count, loop.strideB, loop.strideA)).toList());
  }

  /** Indices of matrices in a, b and c. */
  public record Start(long a, long b, long c) {}
}
