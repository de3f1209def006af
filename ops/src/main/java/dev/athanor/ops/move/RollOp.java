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

/** Shifts elements along dimensions, as NumPy's roll does. Each shift splits y into two parts. */
public final class RollOp extends CopyOp {

  public RollOp() {
    super(
        describe(
            "roll",
            "Shifts the elements along some dimensions; those beyond the end move to the start.",
            "[…, N, …]",
            "[…, N, …]",
            "y[…, (n + shift) mod N, …] = x[…, n, …]",
            List.of(
                Attribute.integers("shifts", "the shift of each dimension in axes; may be negative")
                    .asRequired(),
                Attribute.integers(
                    "axes",
                    "dimensions to shift; negative values count from the end. If omitted, x is"
                        + " shifted as one row and keeps its shape"))),
        "x=[3,7] shifts=4",
        "x=[20] shifts=-3 axes=0",
        "x=[5,16] shifts=2 axes=0",
        "x=[5,16] shifts=-8 axes=-1",
        "x=[4,6,10] shifts=3,-13,0 axes=2,0,1",
        "x=[2,8,8,16] shifts=-4,-4 axes=1,2");
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    if (attributes.integers("shifts").isEmpty()) {
      throw invalid(attributes, "shifts", "give the shift of each dimension");
    }
    int axes = Checks.axes(attributes, "axes", "x", x).size();
    if (axes == 0 && attributes.integers("shifts").size() > 1) {
      throw invalid(attributes, "shifts", "give \"axes\" too, or only one shift");
    }
    Checks.requireLength(attributes, "shifts", Math.max(axes, 1), "value of \"axes\"");
    return Map.of("y", x);
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    boolean flat = attributes.integers("axes").isEmpty();
    var x = flat ? Shape.of(x(inputs).shape().elements()) : x(inputs).shape();
    var axes = flat ? List.of(0) : Checks.axes(attributes, "axes", "x", x);
    List<List<Range>> boxes = List.of(x.extents().stream().map(Range::all).toList());
    for (int i = 0; i < axes.size(); i++) {
      int axis = axes.get(i);
      long extent = x.extent(axis);
      long shift = Math.floorMod(attributes.integers("shifts").get(i), extent);
      if (shift == 0) {
        continue;
      }
      Checks.requireLaunches("axes", "roll along " + axes, 2L * boxes.size());
      var parts = new ArrayList<List<Range>>();
      for (var box : boxes) {
        for (var range :
            List.of(
                new Range(extent - shift, 0, 1, shift), new Range(shift, extent - shift, 1, 0))) {
          var part = new ArrayList<>(box);
          part.set(axis, range);
          parts.add(part);
        }
      }
      boxes = parts;
    }
    return boxes.stream().map(box -> Region.of(Slot.input("x"), x, "y", x, box)).toList();
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var shape = x.shape("x");
    var shifts = attributes.integers("shifts");
    var axes = Checks.axes(attributes, "axes", "x", shape);
    var from = at.clone();
    for (int i = 0; i < axes.size(); i++) {
      int axis = axes.get(i);
      from[axis] = Math.floorMod(at[axis] - shifts.get(i), shape.extent(axis));
    }
    if (axes.isEmpty()) {
      long carry = Math.floorMod(-shifts.getFirst(), shape.elements());
      for (int axis = from.length - 1; axis >= 0; axis--) {
        long sum = from[axis] + carry;
        from[axis] = sum % shape.extent(axis);
        carry = sum / shape.extent(axis);
      }
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    var axes = Checks.axes(attributes, "axes", "x", x(inputs).shape());
    return !axes.isEmpty() && !axes.contains(0);
  }
}
