package dev.athanor.ops.row;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Variant;

/**
 * A kernel that computes each row independently, with arithmetic in f32, or in f64 for f64.
 *
 * @param function the computation
 * @param dtype dtype of the tensors with rows: f64, f32, f16 or bf16
 * @param weights dtype of the tensors that all rows share, such as gamma and beta
 * @param tile the threads that compute a row
 */
public record RowKernel(RowFunction function, DType dtype, DType weights, RowTile tile)
    implements Variant {

  /** Creates a kernel whose tensors have the same dtype. */
  public RowKernel(RowFunction function, DType dtype, RowTile tile) {
    this(function, dtype, dtype, tile);
  }

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
        k ->
            function.write(
                k, this, new RowSchedule(k, tile, number(), k.integer("rows"), k.integer("n"))));
  }

  /** Returns the type of arithmetic. */
  public Type number() {
    return dtype == DType.F64 ? Type.F64 : Type.F32;
  }

  /** Declares a parameter that points to an input with rows. */
  public GlobalPointer input(KernelBuilder k, String name) {
    return k.input(name, type(dtype));
  }

  /**
   * Declares a parameter that points to a tensor with rows. Unlike loads of an input, its loads are
   * not reordered with stores and barriers.
   */
  public GlobalPointer tensor(KernelBuilder k, String name) {
    return k.pointer(name, type(dtype));
  }

  /**
   * Declares a parameter that points to an input that all rows share. It is not declared read-only,
   * so that the loads of a batch of chunks stay behind the stores of the previous batch: all loads
   * at once would take too many registers.
   */
  public GlobalPointer weights(KernelBuilder k, String name) {
    return k.pointer(name, type(weights));
  }

  /**
   * Returns the PTX type of a dtype.
   *
   * @throws IllegalArgumentException if rows of this dtype are not supported
   */
  public static Type type(DType dtype) {
    return switch (dtype) {
      case F64 -> Type.F64;
      case F32 -> Type.F32;
      case F16 -> Type.F16;
      case BF16 -> Type.BF16;
      default -> throw new IllegalArgumentException("rows of " + dtype.text());
    };
  }
}
