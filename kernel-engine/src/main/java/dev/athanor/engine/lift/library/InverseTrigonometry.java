package dev.athanor.engine.lift.library;

/**
 * Inverse trigonometric functions, in place of those of {@link Math}. Largest errors found against
 * {@link StrictMath}: 1 ulp ({@code atan}) and 2 ulp ({@code atan2}, {@code asin}, {@code acos}).
 * Those of floats are rounded results in double.
 */
// Coefficients have the digits of their derivation; the compiler rounds them.
@SuppressWarnings("FloatingPointLiteralPrecision")
public final class InverseTrigonometry {
  private static final double HALF_PI_REST = 0x1.1a62633145c07p-54;

  /** The tangent of an eighth of pi. */
  private static final double EIGHTH = 0.41421356237309503;

  private InverseTrigonometry() {}

  /** Returns the angle of a tangent, from -pi/2 to pi/2. */
  public static float atan(float x) {
    return (float) atan((double) x);
  }

  /** Returns the angle of a sine, from -pi/2 to pi/2; NaN for |x| &gt; 1. */
  public static float asin(float x) {
    return (float) asin((double) x);
  }

  /** Returns the angle of a cosine, from 0 to pi; NaN for |x| &gt; 1. */
  public static float acos(float x) {
    return (float) acos((double) x);
  }

  /** Returns the angle of a point, from -pi to pi. */
  public static float atan2(float y, float x) {
    return (float) atan2((double) y, (double) x);
  }

  /** Returns the angle of a tangent, from -pi/2 to pi/2. */
  public static double atan(double x) {
    double size = Math.abs(x);
    double angle = size > 1 ? angle(1, size) : angle(size, 1);
    double turned = size > 1 ? Math.PI / 2 - (angle - HALF_PI_REST) : angle;
    return Math.copySign(turned, x);
  }

  /** Returns the angle of a sine, from -pi/2 to pi/2; NaN for |x| &gt; 1. */
  public static double asin(double x) {
    return atan2(x, Math.sqrt((1 - x) * (1 + x)));
  }

  /** Returns the angle of a cosine, from 0 to pi; NaN for |x| &gt; 1. */
  public static double acos(double x) {
    return 2 * atan2(Math.sqrt(1 - x), Math.sqrt(1 + x));
  }

  /** Returns the angle of a point, from -pi to pi. */
  public static double atan2(double y, double x) {
    double height = Math.abs(y);
    double width = Math.abs(x);
    boolean steep = height > width;
    double angle = angle(steep ? width : height, steep ? height : width);
    double turned = steep ? Math.PI / 2 - (angle - HALF_PI_REST) : angle;
    boolean left = Double.doubleToRawLongBits(x) < 0;
    double all = left ? Math.PI - (turned - 2 * HALF_PI_REST) : turned;
    return Double.isNaN(x) || Double.isNaN(y) ? Double.NaN : Math.copySign(all, y);
  }

  /** Returns the angle of a tangent y/x from 0 to 1; 0/0 is 0, and infinity/infinity is 1. */
  private static double angle(double y, double x) {
    double tangent = y == 0 ? 0 : y > Double.MAX_VALUE ? 1 : y / x;
    boolean wide = tangent > EIGHTH;
    // tan(a - pi/4) = (tan(a) - 1) / (tan(a) + 1)
    double t = wide ? (tangent - 1) / (tangent + 1) : tangent;
    double small = Math.fma(series(t * t), t, t);
    return wide ? Math.PI / 4 + (small + 0.5 * HALF_PI_REST) : small;
  }

  /** Returns -z/3 + z^2/5 - ..., the series of the inverse tangent of the root of z after 1. */
  private static double series(double z) {
    double p = 1.0 / 41;
    p = Math.fma(p, z, -1.0 / 39);
    p = Math.fma(p, z, 1.0 / 37);
    p = Math.fma(p, z, -1.0 / 35);
    p = Math.fma(p, z, 1.0 / 33);
    p = Math.fma(p, z, -1.0 / 31);
    p = Math.fma(p, z, 1.0 / 29);
    p = Math.fma(p, z, -1.0 / 27);
    p = Math.fma(p, z, 1.0 / 25);
    p = Math.fma(p, z, -1.0 / 23);
    p = Math.fma(p, z, 1.0 / 21);
    p = Math.fma(p, z, -1.0 / 19);
    p = Math.fma(p, z, 1.0 / 17);
    p = Math.fma(p, z, -1.0 / 15);
    p = Math.fma(p, z, 1.0 / 13);
    p = Math.fma(p, z, -1.0 / 11);
    p = Math.fma(p, z, 1.0 / 9);
    p = Math.fma(p, z, -1.0 / 7);
    p = Math.fma(p, z, 1.0 / 5);
    p = Math.fma(p, z, -1.0 / 3);
    return p * z;
  }
}
