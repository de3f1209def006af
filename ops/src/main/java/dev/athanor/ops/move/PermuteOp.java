package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.Loops.Loop;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Permutes the dimensions of a tensor, as ONNX's Transpose does. */
public final class PermuteOp extends CopyOp {

  public PermuteOp() {
    super(
        describe(
            "permute",
            "Permutes the dimensions of a tensor.",
            "[…]",
            "[…]",
            "y[i0, i1, …] = x[j0, j1, …] where j[axes[k]] = i[k]",
            List.of(
                Attribute.integers(
                    "axes",
                    "for each dimension of y the dimension of x; negative values count from the"
                        + " end. If omitted, the dimensions are reversed"))),
        "x=[]",
        "x=[17,33]",
        "x=[2,5,3,7] axes=0,2,1,3",
        "x=[2,8,6,16] axes=0,2,1,3",
        "x=[3,40,66] axes=1,2,0",
        "x=[2,3,19,8] axes=0,2,3,1",
        "x=[2,9,5,16] axes=0,-1,1,2",
        "x=[3,4,5,6,7] axes=4,1,3,0,2",
        "x=[2,3,4,5,6] axes=4,3,2,1,0");
  }

  private static List<Integer> order(Shape x, Attributes attributes) {
    int rank = x.rank();
    if (attributes.integers("axes").isEmpty()) {
      return IntStream.range(0, rank).mapToObj(i -> rank - 1 - i).toList();
    }
    Checks.requireLength(attributes, "axes", rank, "dimension of x");
    return Checks.axes(attributes, "axes", "x", x);
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var x = x(inputs).shape();
    return Map.of("y", new Shape(order(x, attributes).stream().map(x::extent).toList()));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var x = x(inputs).shape();
    var strides = Region.strides(x);
    return List.of(
        Region.dense(
            "x",
            "y",
            order(x, attributes).stream()
                .map(i -> new Loop(x.extent(i), List.of(strides[i])))
                .toList()));
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var order = order(x.shape("x"), attributes);
    var from = new long[at.length];
    for (int i = 0; i < at.length; i++) {
      from[order.get(i)] = at[i];
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return order(x(inputs).shape(), attributes).getFirst() == 0;
  }
}
