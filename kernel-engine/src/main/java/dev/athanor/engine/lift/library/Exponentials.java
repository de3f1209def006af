package dev.athanor.engine.lift.library;

/**
 * Exponentials and logarithms, in place of those of {@link Math}. Largest errors found against
 * {@link StrictMath}: in float 1.5 ulp ({@code exp}, {@code log}), 3 ulp ({@code tanh}) and 1 ulp
 * ({@code pow}); in double 2 ulp ({@code exp}, {@code log}), 4 ulp ({@code tanh}) and 1 ulp ({@code
 * pow}, which is exact where the result is a double).
 */
// Coefficients have the digits of their derivation; the compiler rounds them.
@SuppressWarnings("FloatingPointLiteralPrecision")
public final class Exponentials {
  private static final float LOG2_E_F = 0x1.715476p0f;
  private static final float LN2_HIGH_F = 0x1.62e4p-1f;
  private static final float LN2_LOW_F = 0x1.7f7d1cp-20f;
  private static final double LOG2_E = 0x1.71547652b82fep0;
  private static final double LN2_HIGH = 0x1.62e42feep-1;
  private static final double LN2_LOW = 0x1.a39ef35793c76p-33;

  private static final double LOG10_E = 0x1.bcb7b1526e50ep-2;
  private static final double LOG10_E_LOW = 0x1.95355baaafad3p-57;

  /** An unevaluated sum. */
  private record Sum(double high, double low) {}

  private Exponentials() {}

  /** Returns the logarithm of x to base 10. */
  public static float log10(float x) {
    return (float) log10((double) x);
  }

  /** Returns the logarithm of 1 + x. */
  public static float log1p(float x) {
    return (float) log1p((double) x);
  }

  /** Returns e to the power of x, less 1. */
  public static float expm1(float x) {
    return (float) expm1((double) x);
  }

  /** Returns e to the power of x. */
  public static float exp(float x) {
    float limited = Math.min(Math.max(x, -105f), 89f);
    float k = (float) Math.rint(limited * LOG2_E_F);
    float r = Math.fma(k, -LN2_LOW_F, Math.fma(k, -LN2_HIGH_F, limited));
    return scale(1 + lessOne(r), (int) k);
  }

  /** Returns e to the power of r, less 1, for |r| up to ln(2)/2. */
  private static float lessOne(float r) {
    float p = 1.9875691500e-4f;
    p = Math.fma(p, r, 1.3981999507e-3f);
    p = Math.fma(p, r, 8.3334519073e-3f);
    p = Math.fma(p, r, 4.1665795894e-2f);
    p = Math.fma(p, r, 1.6666665459e-1f);
    p = Math.fma(p, r, 5.0000001201e-1f);
    return Math.fma(p, r * r, r);
  }

  /** Multiplies by a power of two in two steps, so that results may be subnormal. */
  private static float scale(float x, int k) {
    int half = k >> 1;
    return x * power(half) * power(k - half);
  }

  private static float power(int k) {
    return Float.intBitsToFloat((k + 127) << 23);
  }

  /** Returns the natural logarithm of x. */
  public static float log(float x) {
    boolean tiny = x < Float.MIN_NORMAL;
    int bits = Float.floatToRawIntBits(tiny ? x * 0x1p23f : x) - 0x3f3504f3;
    float e = (bits >> 23) - (tiny ? 23 : 0);
    float f = Float.intBitsToFloat((bits & 0x7fffff) + 0x3f3504f3) - 1;
    float z = f * f;
    float p = 7.0376836292e-2f;
    p = Math.fma(p, f, -1.1514610310e-1f);
    p = Math.fma(p, f, 1.1676998740e-1f);
    p = Math.fma(p, f, -1.2420140846e-1f);
    p = Math.fma(p, f, 1.4249322787e-1f);
    p = Math.fma(p, f, -1.6668057665e-1f);
    p = Math.fma(p, f, 2.0000714765e-1f);
    p = Math.fma(p, f, -2.4999993993e-1f);
    p = Math.fma(p, f, 3.3333331174e-1f);
    p = Math.fma(p * f, z, Math.fma(e, -2.12194440e-4f, -0.5f * z));
    float log = Math.fma(e, 0.693359375f, f + p);
    return x > 0 && x <= Float.MAX_VALUE
        ? log
        : x == 0 ? Float.NEGATIVE_INFINITY : x > 0 ? x : Float.NaN;
  }

  /** Returns the hyperbolic tangent of x. */
  public static float tanh(float x) {
    float t = 2 * Math.min(Math.abs(x), 10f);
    float k = (float) Math.rint(t * LOG2_E_F);
    float r = Math.fma(k, -LN2_LOW_F, Math.fma(k, -LN2_HIGH_F, t));
    float two = power((int) k);
    float e = Math.fma(two, lessOne(r), two - 1);
    float tanh = e / (e + 2);
    return x < 0 ? -tanh : x == 0 ? x : tanh;
  }

  /** Returns x to the power of y. */
  public static float pow(float x, float y) {
    return (float) signed(exp(y * log(Math.abs((double) x))), x, y);
  }

  /** Returns e to the power of x. */
  public static double exp(double x) {
    double limited = Math.min(Math.max(x, -746), 710);
    double k = Math.rint(limited * LOG2_E);
    double r = Math.fma(k, -LN2_LOW, Math.fma(k, -LN2_HIGH, limited));
    return scale(1 + lessOne(r), (int) k);
  }

  /** Returns e to the power of r, less 1, for |r| up to ln(2)/2: Taylor's series. */
  private static double lessOne(double r) {
    return Math.fma(Math.fma(thirdOn(r), r, 0.5), r * r, r);
  }

  /** Returns 1/3! + r/4! + ... */
  private static double thirdOn(double r) {
    double p = 1.0 / 6227020800.0;
    p = Math.fma(p, r, 1.0 / 479001600);
    p = Math.fma(p, r, 1.0 / 39916800);
    p = Math.fma(p, r, 1.0 / 3628800);
    p = Math.fma(p, r, 1.0 / 362880);
    p = Math.fma(p, r, 1.0 / 40320);
    p = Math.fma(p, r, 1.0 / 5040);
    p = Math.fma(p, r, 1.0 / 720);
    p = Math.fma(p, r, 1.0 / 120);
    p = Math.fma(p, r, 1.0 / 24);
    return Math.fma(p, r, 1.0 / 6);
  }

  private static double scale(double x, int k) {
    int half = k >> 1;
    return x * powerOfTwo(half) * powerOfTwo(k - half);
  }

  private static double powerOfTwo(int k) {
    return Double.longBitsToDouble((k + 1023L) << 52);
  }

  /** Returns the natural logarithm of x, by the series of fdlibm. */
  public static double log(double x) {
    boolean tiny = x < Double.MIN_NORMAL;
    long bits = Double.doubleToRawLongBits(tiny ? x * 0x1p54 : x) - 0x3fe6a09e667f3bcdL;
    double e = (bits >> 52) - (tiny ? 54 : 0);
    double f = Double.longBitsToDouble((bits & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL) - 1;
    double s = f / (2 + f);
    double z = s * s;
    double p = 1.479819860511658591e-01;
    p = Math.fma(p, z, 1.531383769920937332e-01);
    p = Math.fma(p, z, 1.818357216161805012e-01);
    p = Math.fma(p, z, 2.222219843214978396e-01);
    p = Math.fma(p, z, 2.857142874366239149e-01);
    p = Math.fma(p, z, 3.999999999940941908e-01);
    p = Math.fma(p, z, 6.666666666666735130e-01);
    double half = 0.5 * f * f;
    double low = Math.fma(s, Math.fma(p, z, half), e * LN2_LOW);
    double log = e * LN2_HIGH - ((half - low) - f);
    return x > 0 && x <= Double.MAX_VALUE
        ? log
        : x == 0 ? Double.NEGATIVE_INFINITY : x > 0 ? x : Double.NaN;
  }

  /** Returns the logarithm of x to base 10, exact for powers of 10. */
  public static double log10(double x) {
    var log = precise(Math.abs(x));
    double high = log.high * LOG10_E;
    double low = Math.fma(log.high, LOG10_E, -high) + log.high * LOG10_E_LOW + log.low * LOG10_E;
    return x > 0 && x <= Double.MAX_VALUE ? high + low : log(x);
  }

  /** Returns the logarithm of 1 + x. */
  public static double log1p(double x) {
    double sum = 1 + x;
    double lost = Math.abs(x) < 1 ? x - (sum - 1) : 1 - (sum - x);
    return sum > 0 && sum <= Double.MAX_VALUE && x != 0
        ? log(sum) + lost / sum
        : x == 0 ? x : log(sum);
  }

  /** Returns e to the power of x, less 1. */
  public static double expm1(double x) {
    double limited = Math.min(Math.max(x, -746), 710);
    double k = Math.rint(limited * LOG2_E);
    double r = Math.fma(k, -LN2_LOW, Math.fma(k, -LN2_HIGH, limited));
    double one = k > 60 ? 0 : scale(1, (int) -k);
    double result = scale(lessOne(r) + (1 - one), (int) k);
    return k == 0 ? (x == 0 ? x : lessOne(x)) : k < -60 ? -1 : result;
  }

  /** Returns the hyperbolic tangent of x. */
  public static double tanh(double x) {
    double t = 2 * Math.min(Math.abs(x), 22);
    double k = Math.rint(t * LOG2_E);
    double r = Math.fma(k, -LN2_LOW, Math.fma(k, -LN2_HIGH, t));
    double two = powerOfTwo((int) k);
    double e = Math.fma(two, lessOne(r), two - 1);
    double tanh = e / (e + 2);
    return x < 0 ? -tanh : x == 0 ? x : tanh;
  }

  /**
   * Returns the logarithm of a positive number, {@code e * ln(2) + 2 * atanh(s)}, with an error of
   * 2^-60 at most.
   */
  private static Sum precise(double size) {
    boolean tiny = size < Double.MIN_NORMAL;
    long bits = Double.doubleToRawLongBits(tiny ? size * 0x1p54 : size) - 0x3fe6a09e667f3bcdL;
    double e = (bits >> 52) - (tiny ? 54 : 0);
    double f = Double.longBitsToDouble((bits & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL) - 1;
    double divisor = 2 + f;
    double s = f / divisor;
    double sLow = (Math.fma(-s, divisor, f) - s * (f - (divisor - 2))) / divisor;
    double z = s * s;
    double zLow = Math.fma(s, s, -z) + 2 * s * sLow;
    double fifth = z * arcTail(z);
    double a = 0.2 + fifth;
    double aLow = fifth - (a - 0.2) - 0x1.999999999999ap-57;
    double third = z * a;
    double thirdLow = Math.fma(z, a, -third) + Math.fma(z, aLow, zLow * a);
    double b = 1.0 / 3 + third;
    double bLow = third - (b - 1.0 / 3) + (thirdLow + 0x1.5555555555555p-56);
    double cube = z * b;
    double cubeLow = Math.fma(z, b, -cube) + Math.fma(z, bLow, zLow * b);
    double rest = 2 * s * cube;
    double restLow = Math.fma(2 * s, cube, -rest) + 2 * Math.fma(s, cubeLow, sLow * cube);
    double twos = e * LN2_HIGH;
    double sum = twos + 2 * s;
    double sumLow = e == 0 ? 0 : 2 * s - (sum - twos);
    double log = sum + rest;
    return new Sum(log, rest - (log - sum) + (sumLow + 2 * sLow + restLow + e * LN2_LOW));
  }

  /** Returns x to the power of y. */
  public static double pow(double x, double y) {
    double size = Math.abs(x);
    var log = precise(size);
    double limit =
        size == 0 ? Double.NEGATIVE_INFINITY : size <= Double.MAX_VALUE ? log.high : size;
    double product = y * limit;
    return signed(exp(product, Math.fma(y, log.high, -product) + y * log.low), x, y);
  }

  /** Returns 1/7 + z/9 + ..., the end of the series of the inverse hyperbolic tangent. */
  private static double arcTail(double z) {
    double p = 1.0 / 29;
    p = Math.fma(p, z, 1.0 / 27);
    p = Math.fma(p, z, 1.0 / 25);
    p = Math.fma(p, z, 1.0 / 23);
    p = Math.fma(p, z, 1.0 / 21);
    p = Math.fma(p, z, 1.0 / 19);
    p = Math.fma(p, z, 1.0 / 17);
    p = Math.fma(p, z, 1.0 / 15);
    p = Math.fma(p, z, 1.0 / 13);
    p = Math.fma(p, z, 1.0 / 11);
    p = Math.fma(p, z, 1.0 / 9);
    return Math.fma(p, z, 1.0 / 7);
  }

  /**
   * Returns e to the power of a sum of two doubles; the second counts where the first is finite.
   */
  private static double exp(double x, double low) {
    double limited = Math.min(Math.max(x, -746), 710);
    double k = Math.rint(limited * LOG2_E);
    double high = Math.fma(k, -LN2_HIGH, limited);
    double lower = Math.fma(k, -LN2_LOW, limited == x ? low : 0);
    double r = high + lower;
    double rLow = high - r + lower;
    double square = r * r;
    double first = 1 + r;
    double second = first + 0.5 * square;
    double rest = Math.fma(thirdOn(r), square * r, Math.fma(rLow, r, rLow));
    rest += 0.5 * Math.fma(r, r, -square) + (r - (first - 1));
    return scale(second + (0.5 * square - (second - first) + rest), (int) k);
  }

  /** Gives |x| to the power of y the sign of x to the power of y, or NaN if that is complex. */
  private static double signed(double power, double x, double y) {
    double half = 0.5 * y;
    boolean odd = half != Math.floor(half) && y == Math.floor(y);
    boolean negative = Double.doubleToRawLongBits(x) < 0;
    boolean undefined = x < 0 && x >= -Double.MAX_VALUE && y != Math.floor(y);
    return y == 0 ? 1 : undefined ? Double.NaN : negative && odd ? -power : power;
  }
}
