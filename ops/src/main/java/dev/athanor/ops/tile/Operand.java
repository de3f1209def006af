package dev.athanor.ops.tile;

import dev.athanor.engine.author.Mma;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;

/**
 * A matrix that is multiplied.
 *
 * @param transposed whether a is stored as [K, M], or b as [N, K]
 * @param access bytes per copy that the alignment of its rows allows
 */
public record Operand(DType dtype, boolean transposed, int access) {

  /** Bytes of the widest access. */
  static final int MOST_BYTES = 16;

  /** Returns an operand whose rows in memory are {@code leadingDimension} elements apart. */
  public static Operand of(DType dtype, boolean transposed, int leadingDimension) {
    return new Operand(dtype, transposed, access(leadingDimension, dtype));
  }

  /** Returns the widest access in bytes to which every row is aligned. */
  public static int access(int leadingDimension, DType dtype) {
    return (int) Math.min(MOST_BYTES, Long.lowestOneBit(leadingDimension * (long) dtype.bytes()));
  }

  public Type type() {
    return Epilogue.type(dtype);
  }

  /** Returns the tensor-core instruction that multiplies two operands. */
  public static Mma mma(Operand a, Operand b, Factors factors) {
    return switch (a.dtype) {
      case F16 -> Mma.F16;
      case BF16 -> Mma.BF16;
      case F32 -> Mma.TF32;
      case I8 -> Mma.S8;
      case E4M3, E5M2 -> factors == Factors.WIDENED ? Mma.F16 : Mma.fp8(a.type(), b.type());
      default ->
          throw new IllegalArgumentException(
              "unsupported dtype on tensor cores: " + a.dtype.text());
    };
  }
}
