package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Instructions;
import dev.athanor.engine.ptx.Operand;
import java.util.List;

/** The instructions of {@code WarpMatrix} (PTX ISA 9.7.14.5). */
public final class MatrixLowerings {

  private MatrixLowerings() {}

  /** Emits a product of half-precision matrices. */
  public static void multiplyHalf(Instructions out, Operand result, List<Operand> factors) {
    multiply("f16", out, result, factors);
  }

  /** Emits a product of bfloat16 matrices. */
  public static void multiplyBfloat16(Instructions out, Operand result, List<Operand> factors) {
    multiply("bf16", out, result, factors);
  }

  private static void multiply(
      String type, Instructions out, Operand result, List<Operand> factors) {
    out.emit(
        "mma.sync.aligned.m16n8k16.row.col.f32.%s.%s.f32".formatted(type, type),
        result,
        factors.get(0),
        factors.get(1),
        factors.get(2));
  }

  /** Emits a load of four 8x8 matrices. */
  public static void loadFour(Instructions out, Operand result, List<Operand> address) {
    load("x4", out, result, address);
  }

  /** Emits a load of two 8x8 matrices. */
  public static void loadTwo(Instructions out, Operand result, List<Operand> address) {
    load("x2", out, result, address);
  }

  /** Emits a load of two 8x8 matrices, transposed. */
  public static void loadTwoTransposed(Instructions out, Operand result, List<Operand> address) {
    load("x2.trans", out, result, address);
  }

  private static void load(String kind, Instructions out, Operand result, List<Operand> addresses) {
    AsyncCopyLowerings.requireShared(addresses.getFirst());
    out.emit(
        "ldmatrix.sync.aligned.m8n8.%s.shared.b16".formatted(kind),
        result,
        new Operand.Address(addresses.getFirst(), 0));
  }
}
