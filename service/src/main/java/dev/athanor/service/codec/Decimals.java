package dev.athanor.service.codec;

import java.math.BigInteger;

/**
 * Decimal numbers of up to 19 digits, correctly rounded to binary ones, without objects. What is
 * rare and would take more work is left to others: subnormal numbers, those near infinity, and the
 * middle between two floats.
 */
final class Decimals {

  private static final int EXACT_BITS = 53;

  /** The powers of ten that are doubles. */
  private static final double[] TENS = new double[23];

  /** 19 digits times a lower power are 0, or times a greater one infinity. */
  private static final int LEAST = -342;

  private static final int GREATEST = 308;

  /**
   * The first 128 bits of each power of five, in two longs, the higher first; those of the negative
   * powers, which never end, are rounded up.
   */
  private static final long[] FIVES = new long[2 * (GREATEST - LEAST + 1)];

  static {
    // 5^22 is below 2^53: each product is exact
    TENS[0] = 1;
    for (int i = 1; i < TENS.length; i++) {
      TENS[i] = TENS[i - 1] * 10;
    }
    var power = BigInteger.ONE;
    for (int i = 0; i <= -LEAST; i++) {
      if (i <= GREATEST) {
        setFive(i, power.shiftLeft(128).shiftRight(power.bitLength()));
      }
      if (i > 0) {
        var one = BigInteger.ONE.shiftLeft(power.bitLength() + 127);
        setFive(-i, one.divide(power).add(BigInteger.ONE));
      }
      power = power.multiply(BigInteger.valueOf(5));
    }
  }

  private static void setFive(int exponent, BigInteger bits) {
    int at = 2 * (exponent - LEAST);
    FIVES[at] = bits.shiftRight(64).longValue();
    FIVES[at + 1] = bits.longValue();
  }

  private Decimals() {}

  /**
   * The double nearest to {@code digits * 10^exponent}; NaN where that takes more work. A quotient
   * or a product of two numbers that are doubles is rounded once (Clinger, How to read floating
   * point numbers accurately, 1990).
   *
   * @param digits without a sign
   */
  static double toDouble(long digits, int exponent) {
    if (digits >>> EXACT_BITS == 0 && Math.abs(exponent) < TENS.length) {
      return exponent < 0 ? digits / TENS[-exponent] : digits * TENS[exponent];
    }
    return digits == 0 ? 0 : product(digits, exponent);
  }

  /**
   * The float nearest to {@code digits * 10^exponent}; NaN where that takes more work. The nearest
   * double lies on the same side of the middle between two floats as the number, unless it is that
   * middle.
   *
   * @param digits without a sign
   */
  static float toFloat(long digits, int exponent) {
    double value = toDouble(digits, exponent);
    boolean normal = value >= Float.MIN_NORMAL && value <= Float.MAX_VALUE;
    boolean middle = (Double.doubleToRawLongBits(value) & 0x1FFF_FFFF) == 0x1000_0000;
    return (normal && !middle) || value == 0 ? (float) value : Float.NaN;
  }

  /**
   * The digits times the first 128 bits of a power of five have all bits that decide how they are
   * rounded (Lemire, Number parsing at a gigabyte per second, 2021, algorithm 1; that the product
   * always suffices: Mushtak and Lemire, Fast number parsing without fallback, 2023).
   */
  private static double product(long digits, int exponent) {
    if (exponent < LEAST || exponent > GREATEST) {
      return Double.NaN;
    }
    int zeros = Long.numberOfLeadingZeros(digits);
    long scaled = digits << zeros;
    int at = 2 * (exponent - LEAST);
    long high = Math.unsignedMultiplyHigh(scaled, FIVES[at]);
    long low = scaled * FIVES[at];
    if ((high & 0x1FF) == 0x1FF) {
      long more = Math.unsignedMultiplyHigh(scaled, FIVES[at + 1]);
      low += more;
      high += Long.compareUnsigned(low, more) < 0 ? 1 : 0;
    }
    int upper = (int) (high >>> 63);
    int shift = upper + 64 - EXACT_BITS - 2;
    // one bit more than a double has
    long fraction = high >>> shift;
    // floor(log2(10^exponent)), and what the bits before it stand for
    int power = ((217706 * exponent) >> 16) + 63 + upper - zeros;
    // among the greatest, rounding may end at infinity
    if (power < Double.MIN_EXPONENT || power >= Double.MAX_EXPONENT) {
      return Double.NaN;
    }
    // only here can the number be the very middle between two doubles, which goes to the even one
    boolean middle =
        Long.compareUnsigned(low, 1) <= 0
            && exponent >= -4
            && exponent <= 23
            && (fraction & 3) == 1
            && fraction << shift == high;
    fraction = (middle ? fraction : fraction + 1) >>> 1;
    // what was rounded up to 2^53 is in the exponent where the fractions are added to it
    return Double.longBitsToDouble(
        ((long) (power - Double.MIN_EXPONENT) << (EXACT_BITS - 1)) + fraction);
  }
}
