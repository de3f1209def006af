package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.move.Region.Range;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** Concatenates tensors along a dimension, as ONNX's Concat does. */
public final class ConcatOp extends CopyOp {

  /** Maximum number of inputs. */
  private static final int MOST = 32;

  public ConcatOp() {
    super(
        new OpDescription(
            "concat",
            "Concatenates tensors along a dimension.",
            Input.list(
                "x",
                1,
                MOST,
                "[…, N, …]",
                ElementwiseOps.ELEMENTS,
                "the tensors, of one dtype; their shapes differ in the dimension axis only"),
            List.of(
                Attribute.integer(
                    "axis", 0, "dimension to concatenate; negative values count from the end")),
            List.of(Output.of("y", "[…, sum of N, …]", "same as x0", "the concatenated tensor")),
            "y[…, s + n, …] = xk[…, n, …], where s is the sum of N of x0 … x(k−1)",
            "0"),
        "x0=[5]",
        "x0=[3,8] x1=[5,8]",
        "x0=[3,8] x1=[3,24] axis=1",
        "x0=[3,5] x1=[3,2] x2=[3,16] axis=-1",
        "x0=[2,3,7] x1=[2,1,7] axis=1",
        "x0=[33,1] x1=[33,1] axis=1");
  }

  private static TensorType input(Map<String, TensorType> inputs, int k) {
    return Objects.requireNonNull(inputs.get("x" + k));
  }

  private static int axis(Map<String, TensorType> inputs, Attributes attributes) {
    return Checks.axis(attributes, "axis", "x0", input(inputs, 0).shape());
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var first = input(inputs, 0);
    int axis = axis(inputs, attributes);
    var extents = new ArrayList<>(first.shape().extents());
    for (int k = 1; k < inputs.size(); k++) {
      var here = input(inputs, k);
      Checks.sameDType("x0", first, "x" + k, here);
      var shape = here.shape();
      var both = first.shape();
      if (shape.rank() != both.rank()
          || IntStream.range(0, both.rank())
              .anyMatch(i -> i != axis && shape.extent(i) != both.extent(i))) {
        throw new OpException.ShapeMismatch(
            "x" + k,
            "x0 has shape %s but x%d has %s; they must have equal extents except in dimension %d"
                .formatted(both, k, shape, axis));
      }
      extents.set(axis, Math.addExact(extents.get(axis), shape.extent(axis)));
    }
    return Map.of("y", new Shape(extents));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    int axis = axis(inputs, attributes);
    var y = Objects.requireNonNull(outputs.get("y")).shape();
    var regions = new ArrayList<Region>();
    long first = 0;
    for (int k = 0; k < inputs.size(); k++) {
      var x = input(inputs, k).shape();
      var ranges = new ArrayList<>(x.extents().stream().map(Range::all).toList());
      ranges.set(axis, new Range(x.extent(axis), 0, 1, first));
      regions.add(Region.of(Slot.input("x" + k), x, "y", y, ranges));
      first += x.extent(axis);
    }
    return regions;
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    int axis = Checks.axis(attributes, "axis", "x0", x.shape("x0"));
    var from = at.clone();
    int k = 0;
    while (from[axis] >= x.shape("x" + k).extent(axis)) {
      from[axis] -= x.shape("x" + k).extent(axis);
      k++;
    }
    return x.get("x" + k, from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return axis(inputs, attributes) > 0;
  }
}
