package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;

/**
 * How a tensor core adds the products of one element of a floating-point result.
 *
 * <p>A block of products and the summand are each truncated toward zero to {@code fraction} bits
 * below the greatest exponent among them ({@link NumberTile} says which those are) and added
 * exactly; the sum is brought to the format of the result. The next block has that as its summand.
 * Infinities and NaN follow arithmetic, and every NaN is the canonical one. Source: the MMA-Sim
 * model, which its authors compared with hardware (arXiv 2511.10909).
 *
 * @param fraction the bits kept below the greatest exponent
 * @param depth the products of a block
 * @param sum the format of the sum after a block
 */
public record TensorCore(int fraction, int depth, Sum sum) {

  private static final int TURING = 75;
  private static final int HOPPER = 90;
  private static final int CONSUMER_BLACKWELL = 120;
  private static final int FP8_FRACTION = 13;

  /** The format of a sum, and how it is rounded to that. */
  public enum Sum {
    /** To f32, toward zero. */
    F32(-126),
    /** To 13 bits of the fraction of f32, toward zero. */
    E8M13(-126),
    /** To nearest even. */
    F16(-14);

    private static final long BEYOND_F32 = (1L << 29) - 1;
    private static final int BEYOND_E8M13 = (1 << 10) - 1;

    private final int smallestExponent;

    Sum(int smallestExponent) {
      this.smallestExponent = smallestExponent;
    }

    int smallestExponent() {
      return smallestExponent;
    }

    float round(double sum) {
      return switch (this) {
        case F32 -> towardZero(sum);
        case E8M13 ->
            Float.intBitsToFloat(Float.floatToRawIntBits(towardZero(sum)) & ~BEYOND_E8M13);
        case F16 ->
            Float.float16ToFloat((short) SmallFloat.encode(sum, Type.F16, Rounding.RN, false));
      };
    }

    /** The f32 next to the number on the side of zero; too great a number is infinite. */
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
    // so many terms of less than 2^42 are added exactly in a long
    if (depth < 1 || fraction < 1 || fraction > 40) {
      throw new IllegalArgumentException(
          "a block has at least 1 product, of which at most 40 fraction bits are kept, got %d and %d"
              .formatted(depth, fraction));
    }
  }

  /**
   * The tensor cores of a target as {@code mma.sync} and {@code wmma} use them. Volta adds blocks
   * of 4 products, Turing to Ada of 16 bytes a row (8 of f16, 4 of tf32, 16 of fp8), and Hopper of
   * 32 bytes. Ada adds fp8 in 13 bits. Where {@link #convertsFp8} holds, the result is that of one
   * of the two instructions with k / 2 halves each.
   *
   * @param sum the type of the sum, f32 or f16
   * @param k of the instruction
   */
  static TensorCore of(Target target, NumberFormat factors, Type sum, int k) {
    int sm = target.sm();
    boolean half = sum == Type.F16;
    if (factors.isOf8Bits() && sm < HOPPER) {
      return new TensorCore(FP8_FRACTION, Math.min(16, k), half ? Sum.F16 : Sum.E8M13);
    }
    int depth =
        switch (factors) {
          case E4M3, E5M2 -> convertsFp8(target) ? k / 2 : k;
          case F16, BF16 -> sm >= HOPPER ? 16 : sm >= TURING ? 8 : 4;
          case TF32 -> sm >= HOPPER ? 8 : 4;
        };
    return new TensorCore(
        sm >= HOPPER ? 25 : sm >= TURING ? 24 : 23, Math.min(depth, k), half ? Sum.F16 : Sum.F32);
  }

  /**
   * Returns whether ptxas replaces an {@code mma.sync} of fp8 by conversions to f16, two products
   * of f16 and an addition. It does so from Hopper to Thor, that is for sm_90 to sm_110; Ada and
   * sm_120 have QMMA instructions. Source: the SASS of ptxas 13.0, see docs/emulator.md.
   */
  static boolean convertsFp8(Target target) {
    return target.sm() >= HOPPER && target.sm() < CONSUMER_BLACKWELL;
  }

  /**
   * Returns the position along K at which an element of such an {@code mma.sync} is added: the
   * elements with k mod 4 of 0 and 1 are in the first product of f16, those with 2 and 3 in the
   * second.
   *
   * @param depth of the whole instruction
   */
  static int convertedPosition(int k, int depth) {
    return k % 4 / 2 * (depth / 2) + k / 4 * 2 + k % 2;
  }

  /**
   * The smallest exponent with which factors of {@code mma.sync} and {@code wmma} reach the adder
   * of a target: that of their format, or that of f16 where fp8 is converted.
   */
  static int smallestExponent(Target target, NumberFormat factors) {
    return factors.isOf8Bits() && convertsFp8(target)
        ? NumberFormat.F16.smallestExponent()
        : factors.smallestExponent();
  }

  /**
   * Hopper's tensor cores as {@code wgmma} uses them: the products of an instruction are one block,
   * and those of fp8 are added in 13 bits, to a sum of which f32 has only 13.
   *
   * @param sum the type of the sum, f32 or f16
   * @param k of the instruction
   */
  public static TensorCore wgmma(NumberFormat factors, Type sum, int k) {
    boolean fp8 = factors.isOf8Bits();
    return new TensorCore(
        fp8 ? FP8_FRACTION : 25, k, sum == Type.F16 ? Sum.F16 : fp8 ? Sum.E8M13 : Sum.F32);
  }
}
