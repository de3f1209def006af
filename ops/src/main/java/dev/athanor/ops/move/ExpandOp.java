package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.Loops.Loop;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** Broadcasts a tensor to a shape, as ONNX's Expand does. */
public final class ExpandOp extends CopyOp {

  public ExpandOp() {
    super(
        describe(
            "expand",
            "Broadcasts a tensor to a shape.",
            "[…]",
            "[…]",
            "y[…] = x[…] with NumPy broadcasting: an extent 1 of x is repeated",
            List.of(
                Attribute.integers(
                        "shape",
                        "extents, counted from the last: equal to those of x where neither is 1."
                            + " Where it is 1 or missing, y has the extent of x")
                    .from(0, Double.POSITIVE_INFINITY)
                    .asRequired())),
        "x=[] shape=3,5",
        "x=[1,24] shape=6,24",
        "x=[9,1] shape=9,16",
        "x=[3,1,7] shape=2,1,5,1",
        "x=[2,1,8] shape=4,8",
        "x=[5,6] shape=1");
  }

  /** Returns an extent, counted from the last; 1 beyond the first. */
  private static long fromLast(List<Long> extents, int i) {
    return i <= extents.size() ? extents.get(extents.size() - i) : 1;
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    var shape = attributes.integers("shape");
    if (shape.isEmpty()) {
      throw invalid(attributes, "shape", "give the extents of y");
    }
    var extents = new ArrayList<Long>();
    for (int i = 1; i <= Math.max(x.rank(), shape.size()); i++) {
      long own = fromLast(x.extents(), i);
      long given = fromLast(shape, i);
      if (own != given && own != 1 && given != 1) {
        throw invalid(
            attributes,
            "shape",
            "x has shape %s; counted from the last, each pair of extents must be equal or contain a 1"
                .formatted(x));
      }
      extents.addFirst(own == 1 ? given : own);
    }
    return Map.of("y", new Shape(extents));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var x = x(inputs).shape();
    var y = Objects.requireNonNull(outputs.get("y")).shape();
    var strides = Region.strides(x);
    var loops = new ArrayList<Loop>();
    for (int i = 1; i <= y.rank(); i++) {
      boolean repeats = fromLast(x.extents(), i) == 1;
      loops.addFirst(new Loop(y.extent(-i), List.of(repeats ? 0L : strides[strides.length - i])));
    }
    return List.of(Region.dense("x", "y", loops));
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var shape = x.shape("x");
    var from = new long[shape.rank()];
    for (int i = 0; i < from.length; i++) {
      from[i] = shape.extent(i) == 1 ? 0 : at[at.length - from.length + i];
    }
    return x.get("x", from);
  }

  /** The attribute gives the number of rows. */
  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return false;
  }
}
