package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.Loops.Loop;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** Repeats a tensor along its dimensions, as NumPy's tile does. */
public final class TileOp extends CopyOp {

  public TileOp() {
    super(
        describe(
            "tile",
            "Repeats a tensor along each dimension.",
            "[…, N, …]",
            "[…, repeats·N, …]",
            "y[…, n, …] = x[…, n mod N, …]",
            List.of(
                Attribute.integers(
                        "repeats",
                        "repetitions of each dimension, counted from the last as in NumPy: x and"
                            + " repeats are extended with leading ones to the same length. ONNX and"
                            + " PyTorch require as many as x has dimensions, or more")
                    .from(1, Double.POSITIVE_INFINITY)
                    .asRequired())),
        "x=[] repeats=3",
        "x=[7] repeats=5",
        "x=[16] repeats=2,3",
        "x=[3,8] repeats=2,1",
        "x=[3,8] repeats=1,2",
        "x=[3,1] repeats=2,5",
        "x=[2,3,5] repeats=2,3",
        "x=[2,3,4] repeats=3,2,2");
  }

  /** Returns extents with leading ones. */
  private static List<Long> aligned(List<Long> extents, int rank) {
    var all = new ArrayList<>(Collections.nCopies(rank - extents.size(), 1L));
    all.addAll(extents);
    return all;
  }

  /** Returns the extents of x and the repetitions, of one length. */
  private static List<List<Long>> pairs(Shape x, Attributes attributes) {
    var repeats = attributes.integers("repeats");
    if (repeats.isEmpty()) {
      throw invalid(attributes, "repeats", "give the repetitions of each dimension");
    }
    int rank = Math.max(x.rank(), repeats.size());
    return List.of(aligned(x.extents(), rank), aligned(repeats, rank));
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var pairs = pairs(x(inputs).shape(), attributes);
    var extents = new ArrayList<Long>();
    for (int i = 0; i < pairs.getFirst().size(); i++) {
      extents.add(Math.multiplyExact(pairs.getFirst().get(i), pairs.getLast().get(i)));
    }
    return Map.of("y", new Shape(extents));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var pairs = pairs(x(inputs).shape(), attributes);
    var extents = pairs.getFirst();
    var strides = Region.strides(new Shape(extents));
    var loops = new ArrayList<Loop>();
    for (int i = 0; i < strides.length; i++) {
      loops.add(new Loop(pairs.getLast().get(i), List.of(0L)));
      loops.add(new Loop(extents.get(i), List.of(strides[i])));
    }
    return List.of(Region.dense("x", "y", loops));
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    var shape = x.shape("x");
    var from = new long[shape.rank()];
    for (int i = 0; i < from.length; i++) {
      from[i] = at[at.length - from.length + i] % shape.extent(i);
    }
    return x.get("x", from);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    int rank = x(inputs).shape().rank();
    var repeats = attributes.integers("repeats");
    return repeats.size() < rank || (repeats.size() == rank && repeats.getFirst() == 1);
  }
}
