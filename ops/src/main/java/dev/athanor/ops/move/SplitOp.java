package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.move.Region.Range;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Splits a tensor along a dimension, as ONNX's Split does. */
public final class SplitOp extends CopyOp {

  /** Maximum number of outputs. */
  private static final int MOST = 32;

  public SplitOp() {
    super(
        new OpDescription(
            "split",
            "Splits a tensor along a dimension.",
            List.of(
                new Input("x", "[…, N, …]", ElementwiseOps.ELEMENTS, false, "the input tensor")),
            List.of(
                Attribute.integer(
                    "axis", 0, "dimension to split; negative values count from the end"),
                Attribute.integers("sizes", "extents of the outputs along axis; their sum is N")
                    .from(0, Double.POSITIVE_INFINITY),
                Attribute.integer(
                        "parts",
                        "number of outputs, instead of sizes. Each has the extent N / parts, rounded"
                            + " up; the last has the rest")
                    .from(1, MOST)),
            Output.list(
                "y", MOST, "[…, sizes[k], …]", "same as x", "the parts, copied bit for bit"),
            "yk[…, n, …] = x[…, s + n, …], where s is the sum of sizes[0] … sizes[k−1]",
            "0"),
        "x=[64] parts=2",
        "x=[7,8] parts=3",
        "x=[7,1] axis=1 sizes=1",
        "x=[3,32] axis=1 sizes=8,16,8",
        "x=[3,9] axis=-1 sizes=2,7",
        "x=[2,5,6] axis=1 sizes=1,3,1");
  }

  private static List<Long> sizes(Shape x, int axis, Attributes attributes) {
    long extent = x.extent(axis);
    if (attributes.has("sizes") == attributes.has("parts")) {
      throw invalid(attributes, "sizes", "give either \"sizes\" or \"parts\"");
    }
    if (attributes.has("parts")) {
      long parts = attributes.integer("parts");
      long each = Math.ceilDiv(extent, parts);
      long last = extent - each * (parts - 1);
      if (last < Math.min(1, extent)) {
        throw invalid(
            attributes,
            "parts",
            "%d parts of extent %d, rounded up, leave nothing of dimension %d of x %s for the last"
                    .formatted(parts, each, axis, x)
                + "; give fewer parts, or \"sizes\"");
      }
      var sizes = new ArrayList<Long>();
      for (int i = 0; i < parts; i++) {
        sizes.add(i < parts - 1 ? each : last);
      }
      return sizes;
    }
    var sizes = attributes.integers("sizes");
    long sum = 0;
    for (long size : sizes) {
      sum = Math.addExact(sum, size);
    }
    if (sizes.size() > MOST || sum != extent) {
      throw invalid(
          attributes,
          "sizes",
          "it must be at most %d extents with the sum %d, the extent of dimension %d of x %s"
              .formatted(MOST, extent, axis, x));
    }
    return sizes;
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    int axis = Checks.axis(attributes, "axis", "x", x);
    var shapes = new LinkedHashMap<String, Shape>();
    for (long size : sizes(x, axis, attributes)) {
      var extents = new ArrayList<>(x.extents());
      extents.set(axis, size);
      shapes.put("y" + shapes.size(), new Shape(extents));
    }
    return shapes;
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var x = x(inputs).shape();
    int axis = Checks.axis(attributes, "axis", "x", x);
    var regions = new ArrayList<Region>();
    long first = 0;
    for (int k = 0; k < outputs.size(); k++) {
      var y = Objects.requireNonNull(outputs.get("y" + k)).shape();
      var ranges = new ArrayList<>(y.extents().stream().map(Range::all).toList());
      ranges.set(axis, new Range(y.extent(axis), first, 1, 0));
      regions.add(Region.of(Slot.input("x"), x, "y" + k, y, ranges));
      first += y.extent(axis);
    }
    return regions;
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    int axis = Checks.axis(attributes, "axis", "x", x.shape("x"));
    var sizes = sizes(x.shape("x"), axis, attributes);
    var from = at.clone();
    for (int k = 0; !output.equals("y" + k); k++) {
      from[axis] += sizes.get(k);
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return Checks.axis(attributes, "axis", "x", x(inputs).shape()) > 0;
  }
}
