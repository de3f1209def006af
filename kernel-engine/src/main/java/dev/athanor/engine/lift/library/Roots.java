package dev.athanor.engine.lift.library;

/**
 * Cube roots and lengths, in place of those of {@link Math}, within 1 ulp. Those of floats are
 * rounded results in double.
 */
public final class Roots {

  private Roots() {}

  /** Returns the cube root of x. */
  public static float cbrt(float x) {
    return (float) cbrt((double) x);
  }

  /** Returns the root of x^2 + y^2, without overflow or underflow on the way. */
  public static float hypot(float x, float y) {
    return (float) hypot((double) x, (double) y);
  }

  /** Returns the cube root of x. */
  public static double cbrt(double x) {
    double size = Math.abs(x);
    boolean tiny = size < Double.MIN_NORMAL;
    boolean huge = size > 0x1p1000;
    double a = tiny ? size * 0x1p54 : huge ? size * 0x1p-54 : size;
    // a third of the exponent; the error of this guess is at most 4 percent
    long third = Double.doubleToRawLongBits(a) / 3 + 0x2a9f84fe36d22425L;
    double root = Double.longBitsToDouble(third);
    for (int i = 0; i < 3; i++) {
      // Halley's method triples the digits
      double cube = root * root * root;
      root *= (cube + 2 * a) / (2 * cube + a);
    }
    double square = root * root;
    double rest = Math.fma(square, root, -a) + Math.fma(root, root, -square) * root;
    root -= rest / (3 * square);
    double scaled = Math.copySign(tiny ? root * 0x1p-18 : huge ? root * 0x1p18 : root, x);
    return x == 0 || !(size <= Double.MAX_VALUE) ? x : scaled;
  }

  /** Returns the root of x^2 + y^2, without overflow or underflow on the way. */
  public static double hypot(double x, double y) {
    double least = Math.min(Math.abs(x), Math.abs(y));
    double most = Math.max(Math.abs(x), Math.abs(y));
    double scale = most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1;
    double a = most * scale;
    double b = least * scale;
    double square = a * a;
    double other = b * b;
    double sum = square + other;
    double rest = other - (sum - square) + (Math.fma(a, a, -square) + Math.fma(b, b, -other));
    double root = Math.sqrt(sum);
    double better = root + (Math.fma(-root, root, sum) + rest) / (2 * root);
    boolean infinite = Math.abs(x) > Double.MAX_VALUE || Math.abs(y) > Double.MAX_VALUE;
    return infinite ? Double.POSITIVE_INFINITY : most == 0 ? 0 : better / scale;
  }
}
