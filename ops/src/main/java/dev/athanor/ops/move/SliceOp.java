package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Region.Range;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** Copies ranges of dimensions, as ONNX's Slice does. */
public final class SliceOp extends CopyOp {

  public SliceOp() {
    super(
        describe(
            "slice",
            "Copies a range of some dimensions, with a step.",
            "[…, N, …]",
            "[…, M, …]",
            "y[…, m, …] = x[…, start + m·step, …] for the indices from start to end, exclusive; a"
                + " negative start or end counts from the end, and both are clamped to the dimension",
            List.of(
                Attribute.integers("starts", "index of the first element").asRequired(),
                Attribute.integers(
                        "ends",
                        "index after the last element, or before it if the step is negative; values"
                            + " beyond the dimension stand for its end")
                    .asRequired(),
                Attribute.integers(
                    "axes",
                    "dimensions of the other attributes; negative values count from the end. If"
                        + " omitted, the first dimensions"),
                Attribute.integers("steps", "step of each range, not 0; 1 if omitted"))),
        "x=[20] starts=3 ends=1000",
        "x=[9,16] starts=1 ends=-1",
        "x=[5,33] starts=8 ends=24 axes=1",
        "x=[5,32] starts=8 ends=24 axes=1",
        "x=[5,33] starts=-1 ends=-1000 axes=1 steps=-1",
        "x=[6,7,8] starts=5,1 ends=0,7 axes=0,-1 steps=-2,3",
        "x=[4,6,8] starts=0,0,4 ends=4,6,8 steps=1,2,1",
        "x=[4,6] starts=5 ends=6 axes=1");
  }

  private static List<Integer> axes(Shape x, Attributes attributes) {
    var axes = Checks.axes(attributes, "axes", "x", x);
    int count = attributes.integers("starts").size();
    if (axes.isEmpty() && count > x.rank()) {
      throw invalid(
          attributes, "starts", "give at most %d values, as x has shape %s".formatted(x.rank(), x));
    }
    for (var name : List.of("ends", "axes", "steps")) {
      if (!attributes.integers(name).isEmpty() || name.equals("ends")) {
        Checks.requireLength(attributes, name, count, "value of \"starts\"");
      }
    }
    return axes.isEmpty() ? IntStream.range(0, count).boxed().toList() : axes;
  }

  /** Returns the range of each dimension. */
  private static List<Range> ranges(Shape x, Attributes attributes) {
    var axes = axes(x, attributes);
    var ranges = new ArrayList<>(x.extents().stream().map(Range::all).toList());
    for (int i = 0; i < axes.size(); i++) {
      long extent = x.extent(axes.get(i));
      var steps = attributes.integers("steps");
      long step = steps.isEmpty() ? 1 : steps.get(i);
      if (step == 0) {
        throw invalid(attributes, "steps", "a step must not be 0");
      }
      if (extent == 0) {
        continue;
      }
      // the first and the last index that may be clamped to
      long least = step > 0 ? 0 : -1;
      long start = index(attributes.integers("starts").get(i), extent);
      start = Math.clamp(start, 0, step > 0 ? extent : extent - 1);
      long end =
          Math.clamp(index(attributes.integers("ends").get(i), extent), least, extent + least);
      long count = Math.ceilDiv(step > 0 ? end - start : start - end, Math.abs(step));
      ranges.set(axes.get(i), new Range(Math.max(0, count), start, step, 0));
    }
    return ranges;
  }

  private static long index(long given, long extent) {
    return given < 0 ? given + extent : given;
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var ranges = ranges(x(inputs).shape(), attributes);
    return Map.of("y", new Shape(ranges.stream().map(Range::count).toList()));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var x = x(inputs).shape();
    var y = Objects.requireNonNull(outputs.get("y")).shape();
    return List.of(Region.of(Slot.input("x"), x, "y", y, ranges(x, attributes)));
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var axes = axes(x.shape("x"), attributes);
    var from = at.clone();
    for (int i = 0; i < axes.size(); i++) {
      int axis = axes.get(i);
      long extent = x.shape("x").extent(axis);
      long step = attributes.has("steps") ? attributes.integers("steps").get(i) : 1;
      long start = attributes.integers("starts").get(i);
      start = start < 0 ? start + extent : start;
      from[axis] = (step > 0 ? Math.max(start, 0) : Math.min(start, extent - 1)) + at[axis] * step;
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return !axes(x(inputs).shape(), attributes).contains(0);
  }
}
