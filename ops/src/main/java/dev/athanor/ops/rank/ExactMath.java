package dev.athanor.ops.rank;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Wide;
import dev.athanor.engine.ptx.Type;

/**
 * Functions that give the same bits on every device and on the host: they only convert, add,
 * multiply and fuse multiply-adds, each rounded as IEEE 754 requires. The polynomials are those of
 * Cephes (Moshier) for f32.
 */
final class ExactMath {

  private static final float[] LOG = {
    0.070376836f,
    -0.1151461f,
    0.116769984f,
    -0.12420141f,
    0.14249323f,
    -0.16668057f,
    0.20000714f,
    -0.24999994f,
    0.3333333f
  };
  private static final float[] EXP = {
    1.9875691E-4f, 0.0013981999f, 0.008333452f, 0.041665796f, 0.16666666f, 0.5f
  };

  /** The logarithm of 2 as a sum of two numbers; few bits of the first are set. */
  private static final float LN2_HIGH = 0.6933594f;

  private static final float LN2_LOW = -2.1219444E-4f;

  /** The bits of the square root of 1/2. */
  private static final int ROOT_BITS = 0x3F35_04F3;

  private static final int FRACTION_BITS = 23;
  private static final int BIAS = 127;

  /** A weight of 1 in {@link #weight}. */
  static final int WEIGHT_BITS = 32;

  /** The weight of this difference, and of lower ones, is 0. */
  private static final float LEAST_DIFFERENCE = -40;

  private ExactMath() {}

  /**
   * Returns a number from the standard Gumbel distribution, −log(−log u) with u = (word + ½) / 2³²,
   * with a relative error of −log u below 2^-21.
   *
   * @param word a random word
   */
  static float gumbel(int word) {
    // close to 1, 1 - u is accurate in f32 but u is not
    boolean high = ~word >>> 30 == 0;
    float u = Math.fma((float) Integer.toUnsignedLong(high ? ~word : word), 0x1p-32f, 0x1p-33f);
    return -log(-(high ? log(-u, 0) : log(u)));
  }

  /** Returns a number from the standard Gumbel distribution. */
  static Real gumbel(KernelBuilder k, Int word) {
    var complement = word.xor(k.integer(-1));
    var high = complement.shr(30).eq(0);
    var part = complement.where(high, word).value().as(Type.U32);
    var whole = (Real) k.compute(Type.F32, "cvt.rn.f32.u32", part);
    var u = whole.fma(whole.constant(0x1p-32), whole.constant(0x1p-33));
    var exponent = exponent(u);
    var fraction = u.negate().where(high, fraction(u, exponent));
    var rate = log(fraction, k.integer(0).where(high, exponent)).negate();
    var ofRate = exponent(rate);
    return log(fraction(rate, ofRate), ofRate).negate();
  }

  /** Returns the natural logarithm of a positive number that is not subnormal. */
  static float log(float x) {
    int bits = Float.floatToRawIntBits(x);
    int exponent = (bits - ROOT_BITS) >> FRACTION_BITS;
    return log(Float.intBitsToFloat(bits - (exponent << FRACTION_BITS)) - 1, exponent);
  }

  /** Returns the logarithm of (1 + fraction) · 2^exponent, of which 1 + fraction is near 1. */
  private static float log(float fraction, int exponent) {
    float square = fraction * fraction;
    float tail = polynomial(LOG, fraction) * fraction * square;
    tail = Math.fma((float) exponent, LN2_LOW, tail);
    tail = Math.fma(-0.5f, square, tail);
    return Math.fma((float) exponent, LN2_HIGH, fraction + tail);
  }

  private static Int exponent(Real x) {
    return x.bits().plus(-ROOT_BITS).shrSigned(FRACTION_BITS);
  }

  private static Real fraction(Real x, Int exponent) {
    return real(x.bits().minus(exponent.shl(FRACTION_BITS))).minus(1);
  }

  private static Real log(Real fraction, Int exponent) {
    var square = fraction.times(fraction);
    var power = exponent.real(Type.F32);
    var tail = polynomial(LOG, fraction).times(fraction).times(square);
    tail = power.fma(power.constant(LN2_LOW), tail);
    tail = square.fma(square.constant(-0.5), tail);
    return power.fma(power.constant(LN2_HIGH), fraction.plus(tail));
  }

  /**
   * Returns the exponential of a difference that is not positive, times 2³², truncated to an
   * integer. Sums of integers do not depend on their order. A NaN has the weight 0.
   */
  static long weight(float difference) {
    float x = difference > LEAST_DIFFERENCE ? difference : LEAST_DIFFERENCE;
    int exponent = (int) Math.rint(x * (float) (1 / Math.log(2)));
    float fraction = Math.fma((float) exponent, -LN2_HIGH, x);
    fraction = Math.fma((float) exponent, -LN2_LOW, fraction);
    float power = Math.fma(polynomial(EXP, fraction), fraction * fraction, fraction) + 1;
    return (long) (power * Float.intBitsToFloat((exponent + WEIGHT_BITS + BIAS) << FRACTION_BITS));
  }

  /** Returns the exponential of a difference that is not positive, times 2³², truncated. */
  static Wide weight(KernelBuilder k, Real difference) {
    // the maximum of a NaN and a number is the number
    var x = difference.max(difference.constant(LEAST_DIFFERENCE));
    var exponent = x.times((float) (1 / Math.log(2))).round();
    var whole = exponent.real(Type.F32);
    var fraction = whole.fma(whole.constant(-LN2_HIGH), x);
    fraction = whole.fma(whole.constant(-LN2_LOW), fraction);
    var power = polynomial(EXP, fraction).fma(fraction.times(fraction), fraction).plus(1);
    var scaled = power.times(real(exponent.plus(WEIGHT_BITS + BIAS).shl(FRACTION_BITS)));
    return k.compute(Type.S64, "cvt.rzi.s64.f32", scaled).wide();
  }

  private static Real real(Int bits) {
    return (Real) bits.value().as(Type.F32);
  }

  private static float polynomial(float[] coefficients, float x) {
    float sum = coefficients[0];
    for (int i = 1; i < coefficients.length; i++) {
      sum = Math.fma(sum, x, coefficients[i]);
    }
    return sum;
  }

  private static Real polynomial(float[] coefficients, Real x) {
    var sum = x.constant(coefficients[0]);
    for (int i = 1; i < coefficients.length; i++) {
      sum = sum.fma(x, x.constant(coefficients[i]));
    }
    return sum;
  }
}
