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
import java.util.stream.IntStream;

/** Reverses the order of elements along dimensions, as NumPy's flip does. */
public final class FlipOp extends CopyOp {

  public FlipOp() {
    super(
        describe(
            "flip",
            "Reverses the order of the elements along some dimensions.",
            "[…, N, …]",
            "[…, N, …]",
            "y[…, n, …] = x[…, N − 1 − n, …]",
            List.of(
                Attribute.integers(
                    "axes",
                    "dimensions to reverse; negative values count from the end. All if omitted"))),
        "x=[]",
        "x=[13]",
        "x=[5,8] axes=0",
        "x=[5,33] axes=-1",
        "x=[3,5,16] axes=1",
        "x=[3,5,16] axes=0,2");
  }

  private static List<Integer> axes(Shape x, Attributes attributes) {
    var axes = Checks.axes(attributes, "axes", "x", x);
    return axes.isEmpty() ? IntStream.range(0, x.rank()).boxed().toList() : axes;
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    axes(x, attributes);
    return Map.of("y", x);
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var x = x(inputs).shape();
    var ranges = new ArrayList<>(x.extents().stream().map(Range::all).toList());
    for (int axis : axes(x, attributes)) {
      ranges.set(axis, new Range(x.extent(axis), x.extent(axis) - 1, -1, 0));
    }
    return List.of(Region.of(Slot.input("x"), x, "y", x, ranges));
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var from = at.clone();
    for (int axis : axes(x.shape("x"), attributes)) {
      from[axis] = x.shape("x").extent(axis) - 1 - at[axis];
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return !axes(x(inputs).shape(), attributes).contains(0);
  }
}
