package dev.athanor.ops.quant;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import java.util.random.RandomGenerator;

/** Random quantised tensors. */
final class QuantDraw {

  private final RandomGenerator random;
  private final Draw draw;

  QuantDraw(RandomGenerator random) {
    this.random = random;
    this.draw = new Draw(random);
  }

  /** Rows of blocks: random bytes, but for the scales, which are as those of real weights. */
  HostTensor blocks(DType format, long... extents) {
    var tensor = draw.bytes(new TensorType(format, Shape.of(extents)));
    for (long at = 0; at < tensor.data().byteSize(); at += format.bytes()) {
      switch (format) {
        case Q4_0, Q5_0, Q8_0 -> scale(tensor, DType.F16, at);
        case Q4_1, Q4_K, Q5_K -> {
          scale(tensor, DType.F16, at);
          scale(tensor, DType.F16, at + 2);
        }
        case Q6_K -> scale(tensor, DType.F16, at + 208);
        case NF4 -> scale(tensor, DType.F32, at);
        default -> throw new IllegalArgumentException(format.text() + " is no block format");
      }
    }
    return tensor;
  }

  private void scale(HostTensor tensor, DType dtype, long at) {
    double scale = random.nextDouble(1e-3, 1e-1);
    dtype.write(tensor.data().asSlice(at), 0, random.nextBoolean() ? scale : -scale);
  }

  /** Scales of groups. */
  HostTensor scales(DType dtype, long... extents) {
    return draw.uniform(1e-3, 1e-1, new TensorType(dtype, Shape.of(extents)));
  }

  /** Words of nibbles. */
  HostTensor words(long... extents) {
    return draw.bytes(new TensorType(DType.U32, Shape.of(extents)));
  }

  /** Signed bytes, all of them. */
  HostTensor bytes(long... extents) {
    return draw.bytes(new TensorType(DType.I8, Shape.of(extents)));
  }
}
