package dev.athanor.engine.author;

import dev.athanor.engine.layout.Fragment;
import dev.athanor.engine.ptx.Type;

/**
 * A shape of {@code mma.sync} (PTX ISA 9.7.15). {@link dev.athanor.engine.layout.Fragments}
 * describes how the matrices are distributed over the registers of the lanes.
 *
 * @param m rows of a and of the accumulator
 * @param n columns of b and of the accumulator
 * @param k columns of a and rows of b
 * @param a element type of a
 * @param b element type of b
 * @param sum element type of the accumulator
 */
public record Mma(int m, int n, int k, Type a, Type b, Type sum) {

  public static final Mma F16 = new Mma(16, 8, 16, Type.F16, Type.F16, Type.F32);
  public static final Mma BF16 = new Mma(16, 8, 16, Type.BF16, Type.BF16, Type.F32);
  public static final Mma TF32 = new Mma(16, 8, 8, Type.TF32, Type.TF32, Type.F32);
  public static final Mma S8 = new Mma(16, 8, 32, Type.S8, Type.S8, Type.S32);
  public static final Mma F64 = new Mma(8, 8, 4, Type.F64, Type.F64, Type.F64);

  /** Returns the shape for fp8, e4m3 or e5m2 each; sm_89 and later. */
  public static Mma fp8(Type a, Type b) {
    return new Mma(16, 8, 32, a, b, Type.F32);
  }

  /**
   * Returns whether tensor cores accumulate with reduced precision: Ada keeps 13 bits of an fp8 sum
   * and truncates. Such sums must be promoted to f32 registers every few instructions.
   */
  public boolean hasReducedAccumulatorPrecision() {
    return a == Type.E4M3 || a == Type.E5M2;
  }

  /** Returns the number of registers per lane for a. */
  public int registersA() {
    return registers(m * k, a);
  }

  /** Returns the number of registers per lane for b. */
  public int registersB() {
    return registers(k * n, b);
  }

  /** Returns the number of registers per lane for the accumulator. */
  public int registersSum() {
    return registers(m * n, sum);
  }

  private static int registers(int elements, Type type) {
    return elements / Fragment.LANES * type.bits() / Math.max(32, type.bits());
  }

  /** Returns the {@code wgmma} with these types, for 64 rows and a number of columns. */
  String asyncInstruction(int columns) {
    return "wgmma.mma_async.sync.aligned.m64n%dk%d.%s.%s.%s"
        .formatted(columns, k, sum.word(), a.word(), b.word());
  }

  String instruction() {
    return "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s"
        .formatted(m, n, k, sum.word(), a.word(), b.word(), sum.word());
  }
}
