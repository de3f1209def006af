package dev.athanor.ops.tile;

import dev.athanor.engine.author.Mma;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;

/**
 * A matrix that is multiplied.
 *
 * @param transposed whether a is stored as [K, M], or b as [N, K]
 * @param access bytes that a copy may move at once, as the alignment of its rows allows
 */
public record Operand(DType dtype, boolean transposed, int access) {

  private static final int MOST_BYTES = 16;

  /** An operand whose rows in memory have so many elements. */
  public static Operand of(DType dtype, boolean transposed, int leadingDimension) {
    return new Operand(dtype, transposed, access(leadingDimension, dtype));
  }

  /** The most bytes that every row begins at a multiple of, and that one instruction can move. */
  public static int access(int leadingDimension, DType dtype) {
    return (int) Math.min(MOST_BYTES, Long.lowestOneBit(leadingDimension * (long) dtype.bytes()));
  }

  public Type type() {
    return Epilogue.type(dtype);
  }

  /** What multiplies these on tensor cores. */
  public static Mma mma(Operand a, Operand b, Factors factors) {
    return switch (a.dtype) {
      case F16 -> Mma.F16;
      case BF16 -> Mma.BF16;
      case F32 -> Mma.TF32;
      case I8 -> Mma.S8;
      case E4M3, E5M2 -> factors == Factors.WIDENED ? Mma.F16 : Mma.fp8(a.type(), b.type());
      default -> throw new IllegalArgumentException(a.dtype.text() + " is not for tensor cores");
    };
  }
}
