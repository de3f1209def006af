package dev.athanor.ops.indexing;

import dev.athanor.ops.Arguments;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.map.Loops;
import dev.athanor.ops.map.Loops.Loop;
import java.util.ArrayList;
import java.util.List;

/**
 * The slice of x that each position of an index tensor names. A slice is a number of contiguous
 * elements of x; slices are numbered from 0.
 *
 * @param loops over the positions in order, with the stride of the first slice that a position may
 *     name, in slices
 * @param repeats whether the inner of two loops runs over the index, which the outer loop repeats;
 *     otherwise the index has numbers for each position
 * @param components the numbers of the index that name a slice
 * @param slices number of slices of x
 * @param width elements of a slice
 */
record Lookup(Loops loops, boolean repeats, List<Component> components, long slices, long width) {

  /**
   * A number of the index.
   *
   * @param extent of the dimension of x that it indexes
   * @param stride of that dimension, in slices
   */
  record Component(long extent, long stride) {}

  Lookup {
    components = List.copyOf(components);
  }

  /**
   * Returns the lookup of single elements: a position names an element with the same indices but in
   * one dimension.
   */
  static Lookup elements(Shape x, Shape index, int axis) {
    var loops = new ArrayList<Loop>();
    long stride = 1;
    long along = 0;
    for (int i = x.rank() - 1; i >= 0; i--) {
      along = i == axis ? stride : along;
      loops.add(new Loop(index.extent(i), List.of(i == axis ? 0 : stride)));
      stride *= x.extent(i);
    }
    return new Lookup(
        Loops.of(1, loops.reversed()),
        false,
        List.of(new Component(x.extent(axis), along)),
        x.elements(),
        1);
  }

  /**
   * Returns the lookup of slices whose first indices are the last dimension of the index.
   *
   * @param batch number of leading dimensions that x and the index share
   */
  static Lookup slices(Shape x, Shape index, int batch) {
    int named = (int) index.extent(-1);
    var components = new ArrayList<Component>();
    long stride = 1;
    for (int i = batch + named - 1; i >= batch; i--) {
      components.add(new Component(x.extent(i), stride));
      stride *= x.extent(i);
    }
    long batches = index.leading(index.rank() - batch).elements();
    long positions = index.leading(1).elements();
    return new Lookup(
        Loops.of(
            1,
            List.of(
                new Loop(batches, List.of(stride)), new Loop(positions / batches, List.of(0L)))),
        false,
        components.reversed(),
        batches * stride,
        x.elements() / (batches * stride));
  }

  /** Returns the lookup of the slices along a dimension, as ONNX's Gather defines it. */
  static Lookup along(Shape x, int axis, long indices) {
    long extent = x.extent(axis);
    long outer = x.leading(x.rank() - axis).elements();
    var inner = new Loop(indices, List.of(0L));
    return new Lookup(
        new Loops(outer == 1 ? List.of(inner) : List.of(new Loop(outer, List.of(extent)), inner)),
        outer > 1,
        List.of(new Component(extent, 1)),
        outer * extent,
        new Shape(x.extents().subList(axis + 1, x.rank())).elements());
  }

  /** Returns the number of positions. */
  long positions() {
    return loops.elements();
  }

  /** Returns the arguments of the parameters that {@link LookupCode} declares. */
  Arguments arguments(Slot index) {
    var arguments = Arguments.NONE.with("index", index);
    for (int l = 0; l < loops.rank(); l++) {
      var loop = loops.loops().get(l);
      arguments = arguments.with("stride" + l, (long) loop.strides().getFirst());
      if (l > 0) {
        arguments = arguments.with("count" + l, (int) loop.count());
      }
    }
    for (int c = 0; c < components.size(); c++) {
      var component = components.get(c);
      arguments = arguments.with("extent" + c, component.extent).with("step" + c, component.stride);
    }
    return arguments;
  }
}
