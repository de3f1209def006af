package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;

/**
 * The accumulation of products in a tensor core, for one element of a floating-point result.
 *
 * <p>The products of a block and the addend are each truncated toward zero to {@code fraction} bits
 * below their greatest exponent (defined by {@link NumberTile}) and added exactly. The sum is
 * rounded to the format of the accumulator and is the addend of the next block. Infinities and NaN
 * follow arithmetic, and every NaN is canonical. Source: the MMA-Sim model, which its authors
 * validated on hardware (arXiv 2511.10909); zeros as measured on an H200.
 *
 * @param fractionBits fraction bits kept below the greatest exponent
 * @param depth number of products in a block
 * @param sum format of the sum after a block
 */
public record TensorCore(int fractionBits, int depth, Sum sum) {

  private static final int TURING = 75;
  private static final int HOPPER = 90;
  private static final int CONSUMER_BLACKWELL = 120;
  private static final int FP8_FRACTION = 13;
  private static final int FP4_FRACTION = 35;

  /** The format and rounding of a sum. */
  public enum Sum {
    /** f32, toward zero. */
    F32(-126),
    /** f32 with 13 fraction bits, toward zero. */
    E8M13(-126),
    /** f16, to nearest even. */
    F16(-14);

    private static final long BEYOND_F32 = (1L << 29) - 1;
    private static final int BEYOND_E8M13 = (1 << 10) - 1;

    private final int minExponent;

    Sum(int smallestExponent) {
      this.minExponent = smallestExponent;
    }

    int minExponent() {
      return minExponent;
    }

    /** Rounds; a sum that becomes zero is +0. */
    float round(double sum) {
      return 0f
          + switch (this) {
            case F32 -> towardZero(sum);
            case E8M13 ->
                Float.intBitsToFloat(Float.floatToRawIntBits(towardZero(sum)) & ~BEYOND_E8M13);
            case F16 ->
                Float.float16ToFloat((short) SmallFloat.encode(sum, Type.F16, Rounding.RN, false));
          };
    }

    /** Returns the nearest f32 toward zero; infinity on overflow. */
    private static float towardZero(double sum) {
      if (Math.abs(sum) >= Float.MIN_NORMAL) {
        return (float) Double.longBitsToDouble(Double.doubleToRawLongBits(sum) & ~BEYOND_F32);
      }
      float nearest = (float) sum;
      return Math.abs((double) nearest) > Math.abs(sum)
          ? Float.intBitsToFloat(Float.floatToRawIntBits(nearest) - 1)
          : nearest;
    }
  }

  public TensorCore {
    // a long adds this many terms below 2^42 exactly
    if (depth < 1 || fractionBits < 1 || fractionBits > 40) {
      throw new IllegalArgumentException(
          "a block has at least 1 product and keeps 1 to 40 fraction bits, got %d and %d"
              .formatted(depth, fractionBits));
    }
  }

  /**
   * Returns the tensor cores of a target for {@code mma.sync} and {@code wmma}. Volta adds blocks
   * of 4 products; Turing to Ada add 16 bytes per row (8 of f16, 4 of tf32, 16 of fp8), Hopper 32
   * bytes. Ada adds fp8 with 13 bits, sm_120 packed 4-bit products with 35 like the model's other
   * Blackwell cores. If {@link #convertsFp8}, the result describes one of two instructions with k /
   * 2 f16 factors each.
   *
   * @param sum type of the sum, f32 or f16
   * @param k depth of the instruction
   */
  static TensorCore of(Target target, NumberFormat factors, Type sum, int k) {
    int sm = target.sm();
    boolean half = sum == Type.F16;
    if (factors.is8Bit() && sm < HOPPER) {
      return new TensorCore(FP8_FRACTION, Math.min(16, k), half ? Sum.F16 : Sum.E8M13);
    }
    int depth =
        switch (factors) {
          case F16, BF16 -> sm >= HOPPER ? 16 : sm >= TURING ? 8 : 4;
          case TF32 -> sm >= HOPPER ? 8 : 4;
          default -> convertsFp8(target) ? k / 2 : k;
        };
    int fraction =
        factors == NumberFormat.PACKED_E2M1
            ? FP4_FRACTION
            : sm >= HOPPER ? 25 : sm >= TURING ? 24 : 23;
    return new TensorCore(fraction, Math.min(depth, k), half ? Sum.F16 : Sum.F32);
  }

  /**
   * Returns whether ptxas replaces an fp8 {@code mma.sync} by conversions to f16, two f16 products
   * and an addition. It does so for sm_90 to sm_110; Ada and sm_120 have QMMA instructions. Source:
   * SASS of ptxas 13.0, see docs/emulator.md.
   */
  static boolean convertsFp8(Target target) {
    return target.sm() >= HOPPER && target.sm() < CONSUMER_BLACKWELL;
  }

  /**
   * Returns the position along K at which an element of such an {@code mma.sync} is added: elements
   * with k mod 4 of 0 and 1 belong to the first f16 product, those with 2 and 3 to the second.
   *
   * @param depth depth of the whole instruction
   */
  static int convertedPosition(int k, int depth) {
    return k % 4 / 2 * (depth / 2) + k / 4 * 2 + k % 2;
  }

  /**
   * Returns the smallest exponent of factors in the adder for {@code mma.sync} and {@code wmma}:
   * that of their format, or that of f16 if fp8 is converted.
   */
  static int minExponent(Target target, NumberFormat factors) {
    return factors.is8Bit() && convertsFp8(target)
        ? NumberFormat.F16.minExponent()
        : factors.minExponent();
  }

  /**
   * Returns Blackwell's tensor cores for {@code tcgen05.mma}: the products of an instruction form
   * one block.
   *
   * @param sum type of the sum, f32 or f16
   * @param k depth of the instruction
   */
  public static TensorCore tcgen05(Type sum, int k) {
    return new TensorCore(25, k, sum == Type.F16 ? Sum.F16 : Sum.F32);
  }

  /**
   * Returns Hopper's tensor cores for {@code wgmma}: the products of an instruction form one block;
   * fp8 products are added with 13 bits, and an f32 accumulator of fp8 has only 13 fraction bits.
   *
   * @param sum type of the sum, f32 or f16
   * @param k depth of the instruction
   */
  public static TensorCore wgmma(NumberFormat factors, Type sum, int k) {
    boolean fp8 = factors.is8Bit();
    return new TensorCore(
        fp8 ? FP8_FRACTION : 25, k, sum == Type.F16 ? Sum.F16 : fp8 ? Sum.E8M13 : Sum.F32);
  }
}
