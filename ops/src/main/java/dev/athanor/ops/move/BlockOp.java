package dev.athanor.ops.move;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.Loops.Loop;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Moves elements between channels and square blocks of an image, as ONNX's DepthToSpace and
 * SpaceToDepth do. An image of blocks has the dimensions [N, C, H, b, W, b]; the channels of the
 * other image are (b, b, C) in mode DCR and (C, b, b) in mode CRD.
 */
public final class BlockOp extends CopyOp {

  private final boolean toSpace;

  /**
   * Creates one of the two ops.
   *
   * @param toSpace whether it is depth-to-space
   */
  public BlockOp(boolean toSpace) {
    super(
        describe(
            toSpace ? "depth-to-space" : "space-to-depth",
            toSpace
                ? "Moves channels into square blocks of an image."
                : "Moves square blocks of an image into channels.",
            toSpace ? "[N, b²·C, H, W]" : "[N, C, b·H, b·W]",
            toSpace ? "[N, C, b·H, b·W]" : "[N, b²·C, H, W]",
            (toSpace
                    ? "y[n, c, h·b + i, w·b + j] = x[n, d, h, w]"
                    : "y[n, d, h, w] = x[n, c, h·b + i, w·b + j]")
                + " where b is block and d is (i·b + j)·C + c (DCR) or c·b² + i·b + j (CRD)",
            List.of(
                Attribute.integer("block", "height and width of a block")
                    .from(1, Double.POSITIVE_INFINITY)
                    .asRequired(),
                Attribute.choice(
                    "mode",
                    "DCR",
                    List.of("DCR", "CRD"),
                    "order of the channels: blocks first (DCR) or blocks last (CRD"
                        + (toSpace ? ", as PyTorch's pixel_shuffle)" : "); ONNX has only DCR")))),
        toSpace
            ? new String[] {
              "x=[2,12,3,5] block=2",
              "x=[2,12,3,5] block=2 mode=CRD",
              "x=[1,18,4,7] block=3",
              "x=[1,16,6,40] block=4 mode=CRD",
              "x=[2,32,1,1] block=4"
            }
            : new String[] {
              "x=[2,3,6,10] block=2",
              "x=[2,3,6,10] block=2 mode=CRD",
              "x=[1,2,12,21] block=3",
              "x=[1,1,24,160] block=4 mode=CRD",
              "x=[2,2,4,4] block=4"
            });
    this.toSpace = toSpace;
  }

  /** Returns the extents N, C, H, W of the blocks and the size of a block. */
  private long[] blocks(Shape x, Attributes attributes) {
    if (x.rank() != 4) {
      throw new OpException.ShapeMismatch(
          "x",
          "x has shape %s; it must be %s".formatted(x, description().inputs().getFirst().shape()));
    }
    long b = attributes.integer("block");
    boolean fits =
        toSpace
            ? b <= x.extent(1) && x.extent(1) % Math.multiplyExact(b, b) == 0
            : x.extent(2) % b == 0 && x.extent(3) % b == 0;
    if (!fits) {
      throw invalid(
          attributes,
          "block",
          "x has shape %s; %s"
              .formatted(
                  x,
                  toSpace
                      ? "its channels must be a multiple of block²"
                      : "its height and width must be multiples of block"));
    }
    return toSpace
        ? new long[] {x.extent(0), x.extent(1) / (b * b), x.extent(2), x.extent(3), b}
        : new long[] {x.extent(0), x.extent(1), x.extent(2) / b, x.extent(3) / b, b};
  }

  @Override
  Map<String, Shape> shapes(Map<String, TensorType> inputs, Attributes attributes) {
    var e = blocks(x(inputs).shape(), attributes);
    long b = e[4];
    return Map.of(
        "y",
        toSpace
            ? Shape.of(e[0], e[1], Math.multiplyExact(e[2], b), Math.multiplyExact(e[3], b))
            : Shape.of(e[0], Math.multiplyExact(e[1], Math.multiplyExact(b, b)), e[2], e[3]));
  }

  @Override
  List<Region> regions(
      Map<String, TensorType> inputs, Attributes attributes, Map<String, TensorType> outputs) {
    var e = blocks(x(inputs).shape(), attributes);
    // the dimensions n, c, i, j, h, w in the order of the deep image and of the wide one
    var extents = List.of(e[0], e[1], e[4], e[4], e[2], e[3]);
    var deep =
        attributes.choice("mode").equals("CRD")
            ? List.of(0, 1, 2, 3, 4, 5)
            : List.of(0, 2, 3, 1, 4, 5);
    var wide = List.of(0, 1, 4, 2, 5, 3);
    var of = toSpace ? deep : wide;
    var strides = Region.strides(new Shape(of.stream().map(extents::get).toList()));
    var loops = new ArrayList<Loop>();
    for (int dimension : toSpace ? wide : deep) {
      loops.add(new Loop(extents.get(dimension), List.of(strides[of.indexOf(dimension)])));
    }
    return List.of(Region.dense("x", "y", loops));
  }

  @Override
  double element(Tensors x, Attributes attributes, String output, long[] at) {
    long b = attributes.integer("block");
    boolean blocksLast = attributes.choice("mode").equals("CRD");
    if (toSpace) {
      long channels = x.shape("x").extent(1) / (b * b);
      long block = at[2] % b * b + at[3] % b;
      long d = blocksLast ? at[1] * b * b + block : block * channels + at[1];
      return x.get("x", at[0], d, at[2] / b, at[3] / b);
    }
    long channels = x.shape("x").extent(1);
    long c = blocksLast ? at[1] / (b * b) : at[1] % channels;
    long block = blocksLast ? at[1] % (b * b) : at[1] / channels;
    return x.get("x", at[0], c, at[2] * b + block / b, at[3] * b + block % b);
  }

  @Override
  boolean keepsRows(Map<String, TensorType> inputs, Attributes attributes) {
    return true;
  }
}
