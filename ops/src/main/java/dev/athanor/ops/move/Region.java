package dev.athanor.ops.move;

import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.map.Loops.Loop;
import java.util.ArrayList;
import java.util.List;

/**
 * A box of an output that is copied from a tensor or filled with a constant.
 *
 * @param source an input, an output that earlier regions wrote, or the bits of a constant
 * @param from offset of the first element in the source
 * @param output name of the output
 * @param at offset of the first element in the output
 * @param loops over the box, outermost first, with their strides in the source and in the output;
 *     those in the source may be negative or zero
 */
record Region(Slot source, long from, String output, long at, List<Loop> loops) {

  Region {
    loops = List.copyOf(loops);
  }

  /**
   * A range of one dimension.
   *
   * @param count number of elements
   * @param from index of the first element in the source
   * @param step step in the source, which may be negative or zero
   * @param at index of the first element in the output
   */
  record Range(long count, long from, long step, long at) {

    /** Returns the range of a whole dimension. */
    static Range all(long extent) {
      return new Range(extent, 0, 1, 0);
    }
  }

  /** Returns the box of these ranges, one for each dimension of the source and of the output. */
  static Region of(Slot source, Shape x, String output, Shape y, List<Range> ranges) {
    var inX = strides(x);
    var inY = strides(y);
    long from = 0;
    long at = 0;
    var loops = new ArrayList<Loop>();
    for (int i = 0; i < ranges.size(); i++) {
      var range = ranges.get(i);
      from += range.from * inX[i];
      at += range.at * inY[i];
      long step = range.count == 1 ? 0 : range.step * inX[i];
      loops.add(new Loop(range.count, List.of(step, inY[i])));
    }
    return new Region(source, from, output, at, loops);
  }

  /**
   * Returns a region that covers an output.
   *
   * @param loops over the output in order, with their strides in the input
   */
  static Region dense(String input, String output, List<Loop> loops) {
    var strides = strides(new Shape(loops.stream().map(Loop::count).toList()));
    var both = new ArrayList<Loop>();
    for (int i = 0; i < strides.length; i++) {
      var loop = loops.get(i);
      both.add(new Loop(loop.count(), List.of(loop.strides().getFirst(), strides[i])));
    }
    return new Region(Slot.input(input), 0, output, 0, both);
  }

  /** Returns the strides of a dense tensor, in elements. */
  static long[] strides(Shape shape) {
    var strides = new long[shape.rank()];
    long stride = 1;
    for (int i = strides.length - 1; i >= 0; i--) {
      strides[i] = stride;
      stride *= shape.extent(i);
    }
    return strides;
  }

  /** Returns the number of elements. */
  long elements() {
    return loops.stream().mapToLong(Loop::count).reduce(1, (a, b) -> a * b);
  }

  /** Returns the number of different elements that are read. */
  long read() {
    return source instanceof Slot.Scalar
        ? 0
        : loops.stream()
            .filter(loop -> loop.strides().getFirst() != 0)
            .mapToLong(Loop::count)
            .reduce(1, (a, b) -> a * b);
  }
}
