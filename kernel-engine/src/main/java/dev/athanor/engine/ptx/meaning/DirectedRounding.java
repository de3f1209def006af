package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;

/**
 * Arithmetic rounded toward zero, down or up. Each function rounds to nearest, determines the sign
 * of the error from an exact remainder, and moves to the neighbor in the rounding direction if
 * needed.
 *
 * <p>Operands are scaled to exponents near 0, so that no remainder underflows. Scaling a result to
 * a subnormal number or narrowing it to f32 rounds it again; two roundings in one direction equal
 * one.
 */
final class DirectedRounding {

  /** Exponent difference beyond which only the sign of the smaller summand matters. */
  private static final int MAX_EXPONENT_GAP = 120;

  private DirectedRounding() {}

  static double add(double a, double b, Rounding rounding) {
    double sum = a + b;
    if (Double.isNaN(sum) || Double.isInfinite(a) || Double.isInfinite(b)) {
      return sum;
    }
    if (sum == 0) {
      boolean negative = Math.copySign(1, a) < 0 || Math.copySign(1, b) < 0;
      return rounding == Rounding.RM && negative ? -0.0 : sum;
    }
    return Double.isInfinite(sum)
        ? adjust(sum, -sum, rounding)
        : adjust(sum, remainder(a, b, sum), rounding);
  }

  static double mul(double a, double b, Rounding rounding) {
    double product = a * b;
    if (isSpecial(a) || isSpecial(b)) {
      return product;
    }
    int exponentA = exponent(a);
    int exponentB = exponent(b);
    double x = Math.scalb(a, -exponentA);
    double y = Math.scalb(b, -exponentB);
    double near = x * y;
    return scale(
        adjust(near, Math.fma(x, y, -near), rounding), (long) exponentA + exponentB, rounding);
  }

  static double div(double a, double b, Rounding rounding) {
    if (isSpecial(a) || isSpecial(b)) {
      return a / b;
    }
    int exponentA = exponent(a);
    int exponentB = exponent(b);
    double x = Math.scalb(a, -exponentA);
    double y = Math.scalb(b, -exponentB);
    double near = x / y;
    double lost = Math.fma(-near, y, x) * Math.signum(y);
    return scale(adjust(near, lost, rounding), (long) exponentA - exponentB, rounding);
  }

  static double sqrt(double a, Rounding rounding) {
    if (isSpecial(a) || a < 0) {
      return Math.sqrt(a);
    }
    int half = exponent(a) >> 1;
    double x = Math.scalb(a, -2 * half);
    double near = Math.sqrt(x);
    return Math.scalb(adjust(near, Math.fma(-near, near, x), rounding), half);
  }

  static double fma(double a, double b, double c, Rounding rounding) {
    if (!Double.isFinite(c) && Double.isFinite(a) && Double.isFinite(b)) {
      return c; // the product may overflow
    }
    if (isSpecial(a) || isSpecial(b) || !Double.isFinite(c)) {
      return Double.isFinite(a) && Double.isFinite(b) ? add(a * b, c, rounding) : Math.fma(a, b, c);
    }
    if (c == 0) {
      return mul(a, b, rounding);
    }
    int exponentA = exponent(a);
    int exponentB = exponent(b);
    double x = Math.scalb(a, -exponentA);
    double y = Math.scalb(b, -exponentB);
    long scale = (long) exponentA + exponentB;
    long apart = exponent(c) - scale;
    double z = Math.scalb(c, -exponent(c));
    if (apart > MAX_EXPONENT_GAP) {
      double tiny = Math.copySign(Math.scalb(1.0, -MAX_EXPONENT_GAP), x * y);
      return scale(add(z, tiny, rounding), exponent(c), rounding);
    }
    z = Math.scalb(z, (int) Math.max(apart, -MAX_EXPONENT_GAP));
    double near = Math.fma(x, y, z);
    if (near == 0) {
      return rounding == Rounding.RM ? -0.0 : 0.0;
    }
    return scale(adjust(near, remainder(x, y, z, near), rounding), scale, rounding);
  }

  /** Returns the nearest f32 in the rounding direction. */
  static float narrow(double a, Rounding rounding) {
    float near = (float) a;
    boolean tooHigh = near > a;
    boolean tooLow = near < a;
    return switch (rounding) {
      case RZ -> (a > 0 ? tooHigh : tooLow) ? towardZero(near) : near;
      case RM -> tooHigh ? Math.nextDown(near) : near;
      case RP -> tooLow ? Math.nextUp(near) : near;
      default -> near;
    };
  }

  /**
   * Returns a sum rounded to odd: if it is inexact, the neighbor with the last bit set. A second
   * rounding to at most half the digits then equals a single rounding.
   */
  static double addToOdd(double a, double b) {
    double sum = a + b;
    double lost = Double.isFinite(sum) ? remainder(a, b, sum) : 0;
    boolean odd = (Double.doubleToRawLongBits(sum) & 1) != 0;
    return lost == 0 || odd ? sum : lost > 0 ? Math.nextUp(sum) : Math.nextDown(sum);
  }

  /** Returns the error of a sum rounded to nearest (Knuth's TwoSum). */
  private static double remainder(double a, double b, double sum) {
    double virtual = sum - a;
    return (a - (sum - virtual)) + (b - virtual);
  }

  /**
   * Returns a number with the sign of the error of a fused multiply-add (Boldo and Muller's
   * ErrFma).
   */
  private static double remainder(double a, double b, double c, double near) {
    double product = a * b;
    double productLow = Math.fma(a, b, -product);
    double low = c + productLow;
    double lowest = remainder(c, productLow, low);
    double high = product + low;
    double highLow = remainder(product, low, high);
    double rest = (high - near) + highLow;
    return rest + lowest;
  }

  private static double adjust(double near, double lost, Rounding rounding) {
    return switch (rounding) {
      case RZ -> lost != 0 && (lost < 0) == (near > 0) ? towardZero(near) : near;
      case RM -> lost < 0 ? Math.nextDown(near) : near;
      case RP -> lost > 0 ? Math.nextUp(near) : near;
      default -> near;
    };
  }

  private static double scale(double a, long exponent, Rounding rounding) {
    int by = (int) Math.clamp(exponent, -3000L, 3000L);
    double scaled = Math.scalb(a, by);
    if (Double.isInfinite(scaled)) {
      return adjust(scaled, -scaled, rounding);
    }
    double lost = a - Math.scalb(scaled, -by);
    return rounding == Rounding.RZ && scaled == 0 ? scaled : adjust(scaled, lost, rounding);
  }

  private static double towardZero(double a) {
    return Double.longBitsToDouble(Double.doubleToRawLongBits(a) - 1);
  }

  private static float towardZero(float a) {
    return Float.intBitsToFloat(Float.floatToRawIntBits(a) - 1);
  }

  private static boolean isSpecial(double a) {
    return a == 0 || !Double.isFinite(a);
  }

  /** Returns the exponent of the leading digit, also for subnormals. */
  private static int exponent(double a) {
    return Math.abs(a) < Double.MIN_NORMAL
        ? Math.getExponent(a * 0x1p60) - 60
        : Math.getExponent(a);
  }
}
