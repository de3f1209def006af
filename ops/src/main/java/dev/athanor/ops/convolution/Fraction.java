package dev.athanor.ops.convolution;

import java.math.BigInteger;

/** A positive fraction in lowest terms. */
record Fraction(long numerator, long denominator) {

  /** The rounding error of f32, in which ONNX stores scales. */
  private static final double ERROR = 0x1p-24;

  static Fraction of(long numerator, long denominator) {
    long divisor = divisor(numerator, denominator);
    return new Fraction(numerator / divisor, denominator / divisor);
  }

  /**
   * Returns the first convergent of the continued fraction of a number that differs by at most the
   * rounding error of f32, so that 0.6 in f32 is 3/5.
   *
   * @param value from 2^-31 to 2^31
   */
  static Fraction near(double value) {
    long numerator = 1;
    long denominator = 0;
    long lastNumerator = 0;
    long lastDenominator = 1;
    double rest = value;
    do {
      long whole = (long) rest;
      long nextNumerator = whole * numerator + lastNumerator;
      long nextDenominator = whole * denominator + lastDenominator;
      lastNumerator = numerator;
      lastDenominator = denominator;
      numerator = nextNumerator;
      denominator = nextDenominator;
      rest = 1 / (rest - whole);
    } while (Math.abs(numerator / (double) denominator - value) > ERROR * value);
    return new Fraction(numerator, denominator);
  }

  double value() {
    return numerator / (double) denominator;
  }

  /** Returns the greatest common divisor of two numbers, which is not negative. */
  static long divisor(long a, long b) {
    return BigInteger.valueOf(a).gcd(BigInteger.valueOf(b)).longValueExact();
  }
}
