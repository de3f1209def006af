package dev.athanor.ops.quant;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.HashMap;
import java.util.Map;
import java.util.random.RandomGenerator;

/** Random quantized tensors. */
public final class QuantDraw {

  private final Draw draw;

  public QuantDraw(RandomGenerator random) {
    this.draw = new Draw(random);
  }

  /** Draws scales of groups. */
  public HostTensor scales(DType dtype, long... extents) {
    return draw.uniform(1e-3, 1e-1, new TensorType(dtype, Shape.of(extents)));
  }

  /** Draws words of nibbles. */
  public HostTensor words(long... extents) {
    return draw.bytes(new TensorType(DType.U32, Shape.of(extents)));
  }

  /** Draws the group of each of {@code k} rows, with a few groups that do not exist. */
  public HostTensor groupIndices(int k, int groups) {
    var indices = draw.integers(0, groups - 1, TensorType.of(DType.I32, k));
    long[] outside = {groups, -1, Integer.MAX_VALUE, Integer.MIN_VALUE};
    for (int i = 0; i < outside.length; i++) {
      DType.I32.writeLong(indices.data(), i + 1, outside[i]);
    }
    return indices;
  }

  /**
   * Draws E2M1 weights and their scales, the first of NVFP4 subnormal.
   *
   * @param extents of the weights, the last a multiple of the format's group
   */
  public Map<String, HostTensor> fp4(
      String weights, String scales, Fp4Format format, long... extents) {
    var shape = Shape.of(extents);
    var rows = shape.leading(1);
    var ofScales = rows.with(shape.extent(-1) / format.group());
    var scale =
        format == Fp4Format.NVFP4
            ? draw.uniform(0x1p-8, 2, new TensorType(DType.E4M3, ofScales))
            : draw.integers(119, 127, new TensorType(DType.U8, ofScales));
    if (format == Fp4Format.NVFP4) {
      scale.type().dtype().write(scale.data(), 0, 0x1p-9);
    }
    return new HashMap<>(
        Map.of(
            weights,
            draw.bytes(new TensorType(DType.U8, rows.with(shape.extent(-1) / 2))),
            scales,
            scale));
  }

  /** Draws signed bytes from their whole range. */
  public HostTensor bytes(long... extents) {
    return draw.bytes(new TensorType(DType.I8, Shape.of(extents)));
  }
}
