package dev.athanor.engine.lift.library;

/**
 * Sine and cosine, in place of those of {@link Math}. Largest errors found against {@link
 * StrictMath}, over all arguments: 2 ulp in float, 1 ulp in double.
 */
// Coefficients have the digits of their derivation; the compiler rounds them.
@SuppressWarnings("FloatingPointLiteralPrecision")
public final class Trigonometry {
  private static final double HALF_PI = 0x1.921fb54442d18p0;
  private static final double HALF_PI_REST = 0x1.1a62633145c07p-54;
  private static final double HALF_PI_HIGH = 0x1.921fb544p0;
  private static final double HALF_PI_MIDDLE = 0x1.0b4611a6p-34;
  private static final double HALF_PI_LOW = 0x1.3198a2e037073p-69;
  private static final double HALF_PI_LOWEST = 0x1.129024e088a68p-123;

  private Trigonometry() {}

  /** Returns the sine of an angle in radians. */
  public static float sin(float x) {
    return x == 0 ? x : sine(x, 0);
  }

  /** Returns the cosine of an angle in radians. */
  public static float cos(float x) {
    return sine(x, 1);
  }

  /** Returns the tangent of an angle in radians. */
  public static float tan(float x) {
    return (float) tan((double) x);
  }

  /** Returns the sine of x plus a number of quarter turns. */
  private static float sine(float x, int turns) {
    float r;
    int quadrant;
    if (Math.abs(x) < 71_476) {
      float j = (float) Math.rint(x * 0x1.45f306p-1f);
      quadrant = (int) j;
      r = Math.fma(j, -0x1.921fb0p0f, x);
      r = Math.fma(j, -0x1.5110b4p-22f, r);
      r = Math.fma(j, -0x1.846988p-48f, r);
    } else {
      long quarter = quarterTurns(x);
      quadrant = (int) ((quarter + (1L << 61)) >> 62);
      r = (float) ((quarter - ((long) quadrant << 62)) * 0x1.921fb54442d18p-62);
      r = x < 0 ? -r : r;
      quadrant = x < 0 ? -quadrant : quadrant;
      r = Math.abs(x) <= Float.MAX_VALUE ? r : Float.NaN;
    }
    int turned = quadrant + turns;
    float s = r * r;
    float value = (turned & 1) == 0 ? sinePolynomial(r, s) : cosinePolynomial(s);
    return (turned & 2) == 0 ? value : -value;
  }

  private static float sinePolynomial(float r, float s) {
    float p = 0x1.80a000p-19f;
    p = Math.fma(p, s, -0x1.a0690cp-13f);
    p = Math.fma(p, s, 0x1.111182p-7f);
    p = Math.fma(p, s, -0x1.555556p-3f);
    return Math.fma(p, r * s, r);
  }

  private static float cosinePolynomial(float s) {
    float p = 0x1.9a8000p-16f;
    p = Math.fma(p, s, -0x1.6c0efap-10f);
    p = Math.fma(p, s, 0x1.555550p-5f);
    p = Math.fma(p, s, -0.5f);
    return Math.fma(p, s, 1);
  }

  /**
   * Returns |x| in quarter turns, modulo 4, with 62 fractional bits: the method of Payne and Hanek.
   */
  private static long quarterTurns(float x) {
    int bits = Float.floatToRawIntBits(x);
    long mantissa = ((bits << 8) | 0x8000_0000) & 0xFFFF_FFFFL;
    int exponent = ((bits >>> 23) & 0xFF) - 126;
    int word = exponent >> 5;
    int shift = exponent & 31;
    long high = bitsOfTwoOverPi(word, shift);
    long middle = bitsOfTwoOverPi(word + 1, shift);
    long low = bitsOfTwoOverPi(word + 2, shift);
    return ((mantissa * high) << 32) + mantissa * middle + ((mantissa * low) >>> 32);
  }

  /** Returns 32 bits of 2/pi, from a bit of a word on. */
  private static long bitsOfTwoOverPi(int word, int shift) {
    long two = (wordOfTwoOverPi(word) << 32) | wordOfTwoOverPi(word + 1);
    return (two << shift) >>> 32;
  }

  /** Returns a word of 2/pi, shifted right by 2 bits; word 0 is before the point. */
  private static long wordOfTwoOverPi(int word) {
    return switch (word) {
      case 1 -> 0x28be60dbL;
      case 2 -> 0x9391054aL;
      case 3 -> 0x7f09d5f4L;
      case 4 -> 0x7d4d3770L;
      case 5 -> 0x36d8a566L;
      case 6 -> 0x4f10e410L;
      case 7 -> 0x7f9458eaL;
      default -> 0;
    };
  }

  /** Returns the sine of an angle in radians. */
  public static double sin(double x) {
    return x == 0 ? x : sine(x, 0);
  }

  /** Returns the cosine of an angle in radians. */
  public static double cos(double x) {
    return sine(x, 1);
  }

  /** Returns the tangent of an angle in radians. */
  public static double tan(double x) {
    return sin(x) / cos(x);
  }

  /** Returns the sine of x plus a number of quarter turns. */
  private static double sine(double x, int turns) {
    if (!(Math.abs(x) < 0x1p20)) {
      return sineOfLarge(x, turns);
    }
    double j = Math.rint(x * 0x1.45f306dc9c883p-1);
    double high = Math.fma(j, -HALF_PI_HIGH, x);
    double middle = j * HALF_PI_MIDDLE;
    double difference = high - middle;
    double back = difference - high;
    double rest = high - (difference - back) - (middle + back);
    double low = j * HALF_PI_LOW;
    double lowest = rest - Math.fma(j, HALF_PI_LOWEST, Math.fma(j, HALF_PI_LOW, -low));
    double r = difference - low;
    back = r - difference;
    return quarter(r, difference - (r - back) - (low + back) + lowest, (int) j + turns);
  }

  /** As sine, by the method of Payne and Hanek; NaN for infinities. */
  private static double sineOfLarge(double x, int turns) {
    long bits = Double.doubleToRawLongBits(x);
    long mantissa = (bits & 0xfffffffffffffL) | 0x10000000000000L;
    // the position in 2/pi of the first bit whose product with the mantissa is no multiple of 4
    int position = ((int) (bits >>> 52) & 0x7ff) - 1075 - 2 + 64;
    long first = TwoOverPi.bits(position);
    long second = TwoOverPi.bits(position + 64);
    long third = TwoOverPi.bits(position + 128);
    // quarter turns, modulo 4, with 126 fractional bits
    long low = mantissa * second + Math.unsignedMultiplyHigh(mantissa, third);
    long carry = Long.compareUnsigned(low, mantissa * second) < 0 ? 1 : 0;
    long high = mantissa * first + Math.unsignedMultiplyHigh(mantissa, second) + carry;
    int quadrant = (int) ((high + (1L << 61)) >> 62);
    high -= (long) quadrant << 62;
    boolean negative = high < 0;
    high = negative ? (low == 0 ? -high : ~high) : high;
    low = negative ? -low : low;
    int zeros = Long.numberOfLeadingZeros(high);
    long leading = (high << zeros) | (low >>> -zeros);
    double turn = (leading >>> 11) * 0x1p-51;
    double turnLow = (leading & 0x7ff) * 0x1p-62;
    double r = turn * HALF_PI;
    double rLow = Math.fma(turn, HALF_PI, -r) + Math.fma(turn, HALF_PI_REST, turnLow * HALF_PI);
    double scale = Double.longBitsToDouble((1023L - zeros) << 52);
    scale = negative == x < 0 ? scale : -scale;
    double sine = quarter(r * scale, rLow * scale, (x < 0 ? -quadrant : quadrant) + turns);
    return Math.abs(x) <= Double.MAX_VALUE ? sine : Double.NaN;
  }

  /** Returns the sine of the sum of r, up to pi/4, its low part and a number of quarter turns. */
  private static double quarter(double r, double low, int turns) {
    double s = r * r;
    double value = (turns & 1) == 0 ? sinePolynomial(r, low, s) : cosinePolynomial(r, low, s);
    return (turns & 2) == 0 ? value : -value;
  }

  private static double sinePolynomial(double r, double low, double s) {
    double p = 1.58969099521155010221e-10;
    p = Math.fma(p, s, -2.50507602534068634195e-08);
    p = Math.fma(p, s, 2.75573137070700676789e-06);
    p = Math.fma(p, s, -1.98412698298579493134e-04);
    p = Math.fma(p, s, 8.33333333332248946124e-03);
    p = Math.fma(p, s, -1.66666666666666324348e-01);
    return r + Math.fma(p, r * s, Math.fma(-0.5 * s, low, low));
  }

  private static double cosinePolynomial(double r, double low, double s) {
    double p = -1.13596475577881948265e-11;
    p = Math.fma(p, s, 2.08757232129817482790e-09);
    p = Math.fma(p, s, -2.75573143513906633035e-07);
    p = Math.fma(p, s, 2.48015872894767294178e-05);
    p = Math.fma(p, s, -1.38888888888741095749e-03);
    p = Math.fma(p, s, 4.16666666666666019037e-02);
    double first = Math.fma(-0.5, s, 1);
    double rest = Math.fma(-0.5, s, 1 - first) - Math.fma(r, low, 0.5 * Math.fma(r, r, -s));
    return first + Math.fma(p, s * s, rest);
  }
}
