package dev.athanor.engine.author;

import dev.athanor.engine.ptx.Type;

/**
 * A form of {@code mma.sync} (PTX ISA 9.7.15): what a warp multiplies at once. The registers of a
 * lane hold what {@link dev.athanor.engine.layout.Fragments} says.
 *
 * @param m rows of a and of the sum
 * @param n columns of b and of the sum
 * @param k columns of a and rows of b
 * @param a type of the elements of a
 * @param b type of the elements of b
 * @param sum type of the sums
 */
public record Mma(int m, int n, int k, Type a, Type b, Type sum) {

  public static final Mma F16 = new Mma(16, 8, 16, Type.F16, Type.F16, Type.F32);
  public static final Mma BF16 = new Mma(16, 8, 16, Type.BF16, Type.BF16, Type.F32);
  public static final Mma TF32 = new Mma(16, 8, 8, Type.TF32, Type.TF32, Type.F32);
  public static final Mma S8 = new Mma(16, 8, 32, Type.S8, Type.S8, Type.S32);
  public static final Mma F64 = new Mma(8, 8, 4, Type.F64, Type.F64, Type.F64);

  /** Of eight-bit floating-point numbers, e4m3 or e5m2 each; sm_89 and later. */
  public static Mma fp8(Type a, Type b) {
    return new Mma(16, 8, 32, a, b, Type.F32);
  }

  /**
   * Returns whether tensor cores keep too few bits for long sums: Ada keeps 13 bits of a sum of
   * fp8, and truncates. Such sums are to leave the tensor cores every few instructions.
   */
  public boolean keepsFewBits() {
    return a == Type.E4M3 || a == Type.E5M2;
  }

  /** The registers of a lane that hold a. */
  public int registersA() {
    return registers(m * k, a);
  }

  /** The registers of a lane that hold b. */
  public int registersB() {
    return registers(k * n, b);
  }

  /** The registers of a lane that hold the sum. */
  public int registersSum() {
    return registers(m * n, sum);
  }

  private static int registers(int elements, Type type) {
    return elements / KernelBuilder.WARP * type.bits() / Math.max(32, type.bits());
  }

  String instruction() {
    return "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s"
        .formatted(m, n, k, sum.word(), a.word(), b.word(), sum.word());
  }
}
