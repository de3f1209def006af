package dev.athanor.engine.ptx.meaning;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;

/**
 * A slow reimplementation of the tensor-core model with exact decimal arithmetic.
 *
 * @param smallestA exponent of the smallest normal number of the first factors
 */
public record SlowTensorCore(int fraction, Format format, int smallestA, int smallestB) {

  private static final BigDecimal TWO = BigDecimal.valueOf(2);
  private static final int SMALLEST = -126;

  /** The format of a sum. */
  public enum Format {
    F32(23, -126, 128, RoundingMode.DOWN),
    E8M13(13, -126, 128, RoundingMode.DOWN),
    F16(10, -14, 16, RoundingMode.HALF_EVEN);

    private final int bits;
    private final int smallest;
    private final int infinite;
    private final RoundingMode mode;

    Format(int bits, int smallest, int infinite, RoundingMode mode) {
      this.bits = bits;
      this.smallest = smallest;
      this.infinite = infinite;
      this.mode = mode;
    }
  }

  /** Returns the sum of a block of products and c. */
  public double add(double[] a, double[] b, double c) {
    var exponents = new int[a.length];
    for (int k = 0; k < a.length; k++) {
      exponents[k] = exponent(a[k], smallestA) + exponent(b[k], smallestB);
    }
    return add(a, b, exponents, c);
  }

  /** Like {@link #add(double[], double[], double)}, with the exponents of the products. */
  public double add(double[] a, double[] b, int[] exponents, double c) {
    double plain = c;
    int greatest = c == 0 ? SMALLEST : exponent(c, format.smallest);
    for (int k = 0; k < a.length; k++) {
      plain += a[k] * b[k];
      if (a[k] != 0 && b[k] != 0) {
        greatest = Math.max(greatest, exponents[k]);
      }
    }
    if (!Double.isFinite(plain)) {
      return plain;
    }
    var unit = power(greatest - fraction);
    var units = units(new BigDecimal(c), unit);
    for (int k = 0; k < a.length; k++) {
      units = units.add(units(new BigDecimal(a[k]).multiply(new BigDecimal(b[k])), unit));
    }
    var sum = unit.multiply(new BigDecimal(units));
    double rounded = round(sum, format.bits, format.smallest, format.mode);
    return Math.abs(rounded) >= Math.scalb(1.0, format.infinite)
        ? Math.copySign(Double.POSITIVE_INFINITY, rounded)
        : rounded == 0 ? 0 : rounded; // never -0
  }

  /** Truncates a number to whole units. */
  private static BigInteger units(BigDecimal number, BigDecimal unit) {
    return number.divideToIntegralValue(unit).toBigIntegerExact();
  }

  private static int exponent(double value, int smallest) {
    return Math.max(Math.getExponent(value), smallest);
  }

  /** Rounds a number to some bits after the first one; fewer below the smallest exponent. */
  static double round(BigDecimal number, int bits, int smallest, RoundingMode mode) {
    if (number.signum() == 0) {
      return 0;
    }
    int exponent = smallest;
    while (number.abs().compareTo(power(exponent + 64)) >= 0) {
      exponent += 64;
    }
    while (number.abs().compareTo(power(exponent + 1)) >= 0) {
      exponent++;
    }
    var unit = power(exponent - bits);
    double rounded = number.divide(unit).setScale(0, mode).multiply(unit).doubleValue();
    return Math.copySign(rounded, number.signum()); // underflow gives a zero of the same sign
  }

  private static BigDecimal power(int exponent) {
    return exponent < 0 ? BigDecimal.ONE.divide(TWO.pow(-exponent)) : TWO.pow(exponent);
  }
}
