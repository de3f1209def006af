package dev.athanor.ops.map;

import dev.athanor.ops.Arguments;
import dev.athanor.ops.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.LongToIntFunction;
import java.util.stream.IntStream;

/**
 * The loops over the elements of a result in order, as few as possible, with their strides in the
 * operands. A strided result counts as the last operand.
 *
 * @param loops outermost first, at least one
 */
public record Loops(List<Loop> loops) {

  /**
   * One loop.
   *
   * @param strides elements of each operand per step; 0 where it is repeated
   */
  public record Loop(long count, List<Long> strides) {
    public Loop {
      strides = List.copyOf(strides);
    }

    /** Returns whether this loop and {@code inner} can be merged into one. */
    private boolean continues(Loop inner) {
      return IntStream.range(0, strides.size())
          .allMatch(i -> strides.get(i) == inner.count * inner.strides.get(i));
    }
  }

  /**
   * A part of the loops that one launch runs.
   *
   * @param first index of its first element in the result
   * @param starts offset of each operand, in elements
   */
  public record Part(Loops loops, long first, List<Long> starts) {
    public Part {
      starts = List.copyOf(starts);
    }

    /** Returns the number of elements. */
    public long elements() {
      return loops.elements();
    }

    /**
     * Returns the arguments {@code count}, the number of elements; {@code count1}, … of the loops
     * from the second to the innermost, which counts vectors; and {@code stride0_0}, … of each loop
     * but the innermost in each operand.
     *
     * @param vector number of elements per vector
     * @param stride converts a stride; refuses those that are too long
     */
    public Arguments arguments(int vector, LongToIntFunction stride) {
      int inner = loops.rank() - 1;
      var arguments = Arguments.NONE.with("count", (int) elements());
      for (int l = 1; l <= inner; l++) {
        long count = loops.loops.get(l).count;
        arguments = arguments.with("count" + l, (int) (l == inner ? count / vector : count));
      }
      for (int l = 0; l < inner; l++) {
        var strides = loops.loops.get(l).strides;
        for (int o = 0; o < strides.size(); o++) {
          arguments = arguments.with(strideName(l, o), stride.applyAsInt(strides.get(o)));
        }
      }
      return arguments;
    }

    /**
     * Returns the widest vector, in elements of a dense result, to which every row is aligned.
     *
     * @param widest a power of two
     */
    public int vector(int widest) {
      var inner = loops.inner();
      // a single loop computes the remainder one by one; with several, the vector divides the inner
      long steps = first | (loops.rank() == 1 ? 0 : inner.count);
      for (int o = 0; o < starts.size(); o++) {
        steps |= inner.strides.get(o) == 1 ? starts.get(o) : 0;
      }
      return (int) Long.lowestOneBit(steps | widest);
    }
  }

  public Loops {
    loops = List.copyOf(loops);
  }

  /**
   * Returns the loops over a result. Drops loops of one step and merges loops with contiguous
   * strides.
   *
   * @param operands number of operands
   * @param extents a loop per dimension of the result
   */
  public static Loops of(int operands, List<Loop> extents) {
    var loops = new ArrayList<Loop>();
    for (var each : extents.reversed()) {
      var outer = each;
      if (outer.count == 1) {
        continue;
      }
      if (!loops.isEmpty() && outer.continues(loops.getLast())) {
        var inner = loops.removeLast();
        outer = new Loop(outer.count * inner.count, inner.strides);
      }
      loops.add(outer);
    }
    if (loops.isEmpty()) {
      loops.add(new Loop(1, Collections.nCopies(operands, 1L)));
    }
    return new Loops(loops.reversed());
  }

  /**
   * Returns the loops over a shape to which dense operands broadcast as in NumPy.
   *
   * @param shape shape of the result
   * @param operands shapes that broadcast to the result
   */
  public static Loops broadcast(Shape shape, List<Shape> operands) {
    int rank = shape.rank();
    var loops = new ArrayList<Loop>();
    var steps = new long[operands.size()];
    Arrays.fill(steps, 1);
    for (int i = 1; i <= rank; i++) {
      var here = new ArrayList<Long>();
      for (int o = 0; o < steps.length; o++) {
        var operand = operands.get(o);
        long extent = i <= operand.rank() ? operand.extent(-i) : 1;
        here.add(extent == 1 ? 0 : steps[o]);
        steps[o] *= extent;
      }
      loops.add(new Loop(shape.extent(-i), here));
    }
    return of(operands.size(), loops.reversed());
  }

  /** Returns the name of the kernel parameter for the stride of a loop in an operand. */
  public static String strideName(int loop, int operand) {
    return "stride%d_%d".formatted(loop, operand);
  }

  public int rank() {
    return loops.size();
  }

  public Loop inner() {
    return loops.getLast();
  }

  /** Returns whether an operand is dense and row-major: each element follows the previous one. */
  public boolean isDense(int operand) {
    long step = 1;
    for (var loop : loops.reversed()) {
      if (loop.strides.get(operand) != step) {
        return false;
      }
      step *= loop.count;
    }
    return true;
  }

  /** Returns the loops with only the first operands. */
  public Loops first(int operands) {
    return new Loops(
        loops.stream()
            .map(loop -> new Loop(loop.count, loop.strides.subList(0, operands)))
            .toList());
  }

  /** Returns the number of elements of the result. */
  public long elements() {
    return loops.stream().mapToLong(Loop::count).reduce(1, (a, b) -> a * b);
  }

  /** Returns the loops in parts of at most {@code most} elements each, in order. */
  public List<Part> parts(long most) {
    var starts = Collections.nCopies(inner().strides.size(), 0L);
    var parts = new ArrayList<Part>();
    split(new Part(this, 0, starts), most, parts);
    return parts;
  }

  private static void split(Part part, long most, List<Part> into) {
    long elements = part.loops.elements();
    if (elements <= most) {
      into.add(part);
      return;
    }
    var outer = part.loops.loops.getFirst();
    long each = elements / outer.count;
    long steps = Math.max(1, most / each);
    for (long at = 0; at < outer.count; at += steps) {
      long count = Math.min(steps, outer.count - at);
      var rest = new ArrayList<>(part.loops.loops);
      rest.set(0, new Loop(count, outer.strides));
      if (count == 1 && rest.size() > 1) {
        rest.removeFirst();
      }
      var starts = new ArrayList<Long>();
      for (int o = 0; o < part.starts.size(); o++) {
        starts.add(part.starts.get(o) + at * outer.strides.get(o));
      }
      split(new Part(new Loops(rest), part.first + at * each, starts), most, into);
    }
  }
}
