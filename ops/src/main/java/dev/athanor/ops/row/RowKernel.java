package dev.athanor.ops.row;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;

/**
 * A kernel that computes rows, each by itself. All arithmetic is in f32.
 *
 * @param dtype of what has rows
 * @param weights dtype of what all rows share: gamma, beta, cosines and sines
 */
public record RowKernel(RowFunction function, DType dtype, DType weights, RowTile tile)
    implements Variant {

  @Override
  public String name() {
    return "%s_%s%s_%s"
        .formatted(
            function.name(), dtype.text(), weights == dtype ? "" : "_" + weights.text(), tile);
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(
        name(),
        tile.threads(),
        k -> function.write(k, this, new Rows(k, tile, k.integer("rows"), k.integer("n"))));
  }

  /** A parameter that points to a tensor with rows. */
  public GlobalPointer tensor(KernelBuilder k, String name) {
    return k.pointer(name, type(dtype));
  }

  /** A parameter that points to what all rows share. */
  public GlobalPointer weights(KernelBuilder k, String name) {
    return k.pointer(name, type(weights));
  }

  /** The PTX type of the elements. */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      default -> throw new IllegalArgumentException("rows of " + dtype.text());
    };
  }
}
