package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Region.Range;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Extends a tensor at its borders, as ONNX's Pad does. The first region copies x. For each
 * dimension from the last to the first, two more fill the borders, whose elements are constant or
 * elements of y that are already written.
 */
public final class PadOp extends CopyOp {

  public PadOp() {
    super(
        describe(
            "pad",
            "Extends a tensor before and after its elements in each dimension.",
            "[…, N, …]",
            "[…, before + N + after, …]",
            "y[…, before + n, …] = x[…, n, …] for 0 ≤ n < N. For other n: value (constant), the"
                + " nearest element (edge), the element mirrored at the first or the last one, which"
                + " is not repeated (reflect), or n modulo N (wrap)",
            List.of(
                Attribute.integers("before", "elements before each dimension; 0 if omitted")
                    .from(0, Double.POSITIVE_INFINITY),
                Attribute.integers("after", "elements after each dimension; 0 if omitted")
                    .from(0, Double.POSITIVE_INFINITY),
                Attribute.choice(
                    "mode",
                    "constant",
                    List.of("constant", "reflect", "edge", "wrap"),
                    "source of the added elements; reflect adds at most N − 1 on a side, wrap N"),
                Attribute.number(
                    "value", 0, "the constant, which the dtype must be able to represent"))),
        "x=[5] before=3 after=2 value=1",
        "x=[16,32] before=0,16 after=0,0",
        "x=[3,5] before=1,0 after=0,4",
        "x=[2,3,6,8] before=0,0,1,2 after=0,0,2,1 value=1",
        "x=[4,5] before=3,2 after=2,4 mode=reflect",
        "x=[2,4,24] before=0,1,8 after=1,2,8 mode=reflect",
        "x=[4,5] before=3,6 after=9,2 mode=edge",
        "x=[2,1,16] before=0,1,0 after=0,2,16 mode=edge",
        "x=[4,5] before=4,2 after=3,5 mode=wrap",
        "x=[2,1,16] before=1,1,0 after=0,1,16 mode=wrap");
  }

  private static List<Long> pads(Shape x, Attributes attributes, String name) {
    if (!attributes.has(name)) {
      return Collections.nCopies(x.rank(), 0L);
    }
    Checks.requireLength(attributes, name, x.rank(), "dimension of x");
    return attributes.integers(name);
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    var mode = attributes.choice("mode");
    var extents = new ArrayList<>(x.extents());
    for (var name : List.of("before", "after")) {
      var pads = pads(x, attributes, name);
      for (int i = 0; i < x.rank(); i++) {
        long most = mode.equals("reflect") ? Math.max(0, x.extent(i) - 1) : x.extent(i);
        boolean limited =
            mode.equals("reflect") || mode.equals("wrap") || (mode.equals("edge") && most == 0);
        if (limited && pads.get(i) > most) {
          throw invalid(
              attributes,
              name,
              "mode %s adds at most %d on a side of dimension %d of x %s"
                  .formatted(mode, most, i, x));
        }
        extents.set(i, Math.addExact(extents.get(i), pads.get(i)));
      }
    }
    return Map.of("y", new Shape(extents));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var x = x(inputs).shape();
    var y = Objects.requireNonNull(outputs.get("y"));
    var before = pads(x, attributes, "before");
    var after = pads(x, attributes, "after");
    var mode = attributes.choice("mode");
    var source =
        mode.equals("constant")
            ? CopyPlanner.constant(y.dtype(), "value", attributes.number("value"))
            : Slot.output("y");
    var inside = new ArrayList<Range>();
    var center = new ArrayList<Range>();
    for (int i = 0; i < x.rank(); i++) {
      inside.add(new Range(x.extent(i), 0, 1, before.get(i)));
      center.add(new Range(x.extent(i), before.get(i), 1, before.get(i)));
    }
    var regions = new ArrayList<Region>();
    regions.add(Region.of(Slot.input("x"), x, "y", y.shape(), inside));
    var ranges = center;
    for (int i = x.rank() - 1; i >= 0; i--) {
      for (var border : borders(mode, x.extent(i), before.get(i), after.get(i))) {
        if (border.count() > 0) {
          ranges.set(i, border);
          regions.add(Region.of(source, y.shape(), "y", y.shape(), ranges));
        }
      }
      ranges.set(i, Range.all(y.shape().extent(i)));
    }
    return regions;
  }

  /** Returns the ranges of y before and after x, with their sources in y. */
  private static List<Range> borders(String mode, long extent, long before, long after) {
    long end = before + extent;
    return switch (mode) {
      case "reflect" ->
          List.of(new Range(before, 2 * before, -1, 0), new Range(after, end - 2, -1, end));
      case "wrap" -> List.of(new Range(before, extent, 1, 0), new Range(after, before, 1, end));
      default -> List.of(new Range(before, before, 0, 0), new Range(after, end - 1, 0, end));
    };
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var shape = x.shape("x");
    var before = pads(shape, attributes, "before");
    var from = new long[at.length];
    for (int i = 0; i < at.length; i++) {
      long extent = shape.extent(i);
      long n = at[i] - before.get(i);
      boolean outside = n < 0 || n >= extent;
      if (outside && attributes.choice("mode").equals("constant")) {
        return attributes.number("value");
      }
      from[i] =
          switch (attributes.choice("mode")) {
            case "edge" -> Math.clamp(n, 0, extent - 1);
            case "wrap" -> Math.floorMod(n, extent);
            default -> n < 0 ? -n : n < extent ? n : 2 * (extent - 1) - n;
          };
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    return pads(x, attributes, "before").getFirst() == 0
        && pads(x, attributes, "after").getFirst() == 0;
  }
}
