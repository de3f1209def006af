package dev.athanor.ops.quant;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
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

  /** Draws signed bytes from their whole range. */
  public HostTensor bytes(long... extents) {
    return draw.bytes(new TensorType(DType.I8, Shape.of(extents)));
  }
}
