package dev.athanor.service.codec;

import java.math.BigInteger;

/**
 * Converts decimal numbers of up to 19 digits to correctly rounded binary numbers, without
 * allocation. Rare cases return NaN and are left to the caller: subnormal numbers, numbers near the
 * overflow threshold, and midpoints between two floats.
 */
final class Decimals {

  private static final int EXACT_BITS = 53;

  /** The powers of ten that a double represents exactly. */
  private static final double[] TENS = new double[23];

  /** 19 digits times a lower power of ten underflow to 0; times a greater one, they overflow. */
  private static final int MIN_EXPONENT = -342;

  private static final int MAX_EXPONENT = 308;

  /**
   * The most significant 128 bits of each power of five, as two longs, high first. Negative powers
   * are rounded up.
   */
  private static final long[] FIVES = new long[2 * (MAX_EXPONENT - MIN_EXPONENT + 1)];

  static {
    // 5^22 is below 2^53: each product is exact
    TENS[0] = 1;
    for (int i = 1; i < TENS.length; i++) {
      TENS[i] = TENS[i - 1] * 10;
    }
    var power = BigInteger.ONE;
    for (int i = 0; i <= -MIN_EXPONENT; i++) {
      if (i <= MAX_EXPONENT) {
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
    int at = 2 * (exponent - MIN_EXPONENT);
    FIVES[at] = bits.shiftRight(64).longValue();
    FIVES[at + 1] = bits.longValue();
  }

  private Decimals() {}

  /**
   * Returns the double nearest to {@code digits * 10^exponent}, or NaN for rare cases. The fast
   * path multiplies or divides two exact doubles, which rounds once (Clinger, How to read floating
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
   * Returns the float nearest to {@code digits * 10^exponent}, or NaN for rare cases. Rounding
   * through double is correct unless the double is a midpoint between two floats.
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
   * Multiplies the digits by the most significant 128 bits of a power of five, which suffices for
   * correct rounding (Lemire, Number parsing at a gigabyte per second, 2021, algorithm 1; Mushtak
   * and Lemire, Fast number parsing without fallback, 2023).
   */
  private static double product(long digits, int exponent) {
    if (exponent < MIN_EXPONENT || exponent > MAX_EXPONENT) {
      return Double.NaN;
    }
    int zeros = Long.numberOfLeadingZeros(digits);
    long scaled = digits << zeros;
    int at = 2 * (exponent - MIN_EXPONENT);
    long high = Math.unsignedMultiplyHigh(scaled, FIVES[at]);
    long low = scaled * FIVES[at];
    if ((high & 0x1FF) == 0x1FF) {
      long more = Math.unsignedMultiplyHigh(scaled, FIVES[at + 1]);
      low += more;
      high += Long.compareUnsigned(low, more) < 0 ? 1 : 0;
    }
    int upper = (int) (high >>> 63);
    int shift = upper + 64 - EXACT_BITS - 2;
    // one bit more than the precision of a double
    long fraction = high >>> shift;
    // floor(log2(10^exponent)) plus the position of the leading bit
    int power = ((217706 * exponent) >> 16) + 63 + upper - zeros;
    // near the maximum, rounding may overflow to infinity
    if (power < Double.MIN_EXPONENT || power >= Double.MAX_EXPONENT) {
      return Double.NaN;
    }
    // only here can the number be a midpoint between two doubles, which rounds to even
    boolean middle =
        Long.compareUnsigned(low, 1) <= 0
            && exponent >= -4
            && exponent <= 23
            && (fraction & 3) == 1
            && fraction << shift == high;
    fraction = (middle ? fraction : fraction + 1) >>> 1;
    // the addition carries into the exponent if rounding reached 2^53
    return Double.longBitsToDouble(
        ((long) (power - Double.MIN_EXPONENT) << (EXACT_BITS - 1)) + fraction);
  }
}
