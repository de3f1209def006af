package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;

/**
 * Lane functions of floating-point numbers (PTX ISA 9.7.3 to 9.7.5); see {@link LaneFunctions}. f16
 * and bf16 use the functions of float, in which their values are exact: rounding a sum to 24 digits
 * and then to 11 equals a single rounding.
 *
 * <p>NaNs are canonical, except those of f32 sums and products rounded to nearest, which are the
 * JVM's: a test here would prevent auto-vectorization, so the emulator canonicalizes them where
 * they are visible.
 */
final class FloatFunctions {

  /** The canonical NaN of the hardware. */
  private static final float NAN = Float.intBitsToFloat(0x7FFF_FFFF);

  /** The bit that distinguishes quiet from signaling NaNs. */
  private static final long QUIET = 0x0008_0000_0000_0000L;

  /** The result of an invalid f64 operation. */
  private static final double INVALID = Double.longBitsToDouble(0xFFF8_0000_0000_0000L);

  private FloatFunctions() {}

  static float add(float a, float b) {
    return a + b;
  }

  static double add(double a, double b) {
    return propagateNan(a + b, a, b);
  }

  static float sub(float a, float b) {
    return a - b;
  }

  static double sub(double a, double b) {
    return propagateNan(a - b, a, b);
  }

  static float mul(float a, float b) {
    return a * b;
  }

  static double mul(double a, double b) {
    return propagateNan(a * b, a, b);
  }

  static float fma(float a, float b, float c) {
    return Math.fma(a, b, c);
  }

  static double fma(double a, double b, double c) {
    return propagateNan(Math.fma(a, b, c), a, b, c);
  }

  static float div(float a, float b) {
    return canonical(a / b);
  }

  static double div(double a, double b) {
    return propagateNan(a / b, b, a); // the first NaN
  }

  static float abs(float a) {
    return canonical(Math.abs(a));
  }

  /** Keeps the sign and payload of a NaN, like an addition of zero. */
  static double abs(double a) {
    return isNaN(a) ? quiet(a) : Math.abs(a);
  }

  static float neg(float a) {
    return canonical(-a);
  }

  /** Keeps the sign and payload of a NaN, like an addition of zero. */
  static double neg(double a) {
    return isNaN(a) ? quiet(a) : -a;
  }

  /**
   * Returns the number if one operand is NaN, the canonical NaN if both are; -0 is less than +0.
   */
  static float min(float a, float b) {
    return isNaN(a) ? (isNaN(b) ? NAN : b) : isNaN(b) ? a : Math.min(a, b);
  }

  static float max(float a, float b) {
    return isNaN(a) ? (isNaN(b) ? NAN : b) : isNaN(b) ? a : Math.max(a, b);
  }

  static double min(double a, double b) {
    return isNaN(a) ? (isNaN(b) ? quiet(b) : b) : isNaN(b) ? a : Math.min(a, b);
  }

  static double max(double a, double b) {
    return isNaN(a) ? (isNaN(b) ? quiet(b) : b) : isNaN(b) ? a : Math.max(a, b);
  }

  /** Returns NaN if an operand is NaN. */
  static float minOrNan(float a, float b) {
    return isNaN(a) || isNaN(b) ? NAN : Math.min(a, b);
  }

  /** Returns the minimum of the absolute values, with the sign of the product. */
  static float minXorSign(float a, float b) {
    return withProductSign(min(Math.abs(a), Math.abs(b)), a, b);
  }

  static float minOrNanXorSign(float a, float b) {
    return withProductSign(minOrNan(Math.abs(a), Math.abs(b)), a, b);
  }

  /** Returns NaN if an operand is NaN. */
  static float maxOrNan(float a, float b) {
    return isNaN(a) || isNaN(b) ? NAN : Math.max(a, b);
  }

  /** Returns the maximum of the absolute values, with the sign of the product. */
  static float maxXorSign(float a, float b) {
    return withProductSign(max(Math.abs(a), Math.abs(b)), a, b);
  }

  static float maxOrNanXorSign(float a, float b) {
    return withProductSign(maxOrNan(Math.abs(a), Math.abs(b)), a, b);
  }

  static float minOfMagnitudes(float a, float b, float c) {
    return min(min(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  static float minOrNanOfMagnitudes(float a, float b, float c) {
    return minOrNan(minOrNan(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  static float maxOfMagnitudes(float a, float b, float c) {
    return max(max(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  static float maxOrNanOfMagnitudes(float a, float b, float c) {
    return maxOrNan(maxOrNan(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  private static float withProductSign(float size, float a, float b) {
    int sign = (Float.floatToRawIntBits(a) ^ Float.floatToRawIntBits(b)) & Integer.MIN_VALUE;
    return isNaN(size) ? size : Float.intBitsToFloat(Float.floatToRawIntBits(size) | sign);
  }

  static float reciprocal(float a) {
    return canonical(1 / a);
  }

  static double reciprocal(double a) {
    return propagateNan(1 / a, a, a);
  }

  static double reciprocalSqrt(double a) {
    return propagateNan(1 / Math.sqrt(a), a, a);
  }

  static float sqrt(float a) {
    return canonical((float) Math.sqrt(a));
  }

  static double sqrt(double a) {
    return propagateNan(Math.sqrt(a), a, a);
  }

  static float reciprocalSqrt(float a) {
    return canonical((float) (1 / Math.sqrt(a)));
  }

  static float log2(float a) {
    return canonical((float) (Math.log(a) / Math.log(2)));
  }

  static float exp2(float a) {
    return canonical((float) Math.pow(2, a));
  }

  static float tanh(float a) {
    return canonical((float) Math.tanh(a));
  }

  /** Replaces any NaN by the canonical one. */
  static float canonical(float a) {
    return isNaN(a) ? NAN : a;
  }

  /**
   * Makes the NaN of an f64 result deterministic: the second operand's if both are NaN, quieted, as
   * measured on an H200. The manual only requires that payloads are preserved; the JVM may return
   * either operand.
   */
  private static double propagateNan(double result, double a, double b) {
    if (!isNaN(result)) {
      return result;
    }
    double of = isNaN(b) ? b : a;
    return isNaN(of) ? quiet(of) : INVALID;
  }

  /** Returns the NaN of the second factor, then of the addend, then of the first factor. */
  private static double propagateNan(double result, double a, double b, double c) {
    return propagateNan(result, isNaN(c) ? c : a, b);
  }

  /** Quiets a NaN; keeps its sign and payload. */
  static double quiet(double nan) {
    return Double.longBitsToDouble(Double.doubleToRawLongBits(nan) | QUIET);
  }

  private static boolean isNaN(float a) {
    return Float.isNaN(a);
  }

  private static boolean isNaN(double a) {
    return Double.isNaN(a);
  }

  // directed rounding

  static float addDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.add(a, b, rounding), rounding));
  }

  static double addDirected(double a, double b, Rounding rounding) {
    return propagateNan(DirectedRounding.add(a, b, rounding), a, b);
  }

  static float subDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.add(a, -b, rounding), rounding));
  }

  static double subDirected(double a, double b, Rounding rounding) {
    return propagateNan(DirectedRounding.add(a, -b, rounding), a, b);
  }

  static float mulDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.mul(a, b, rounding), rounding));
  }

  static double mulDirected(double a, double b, Rounding rounding) {
    return propagateNan(DirectedRounding.mul(a, b, rounding), a, b);
  }

  static float divDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.div(a, b, rounding), rounding));
  }

  static double divDirected(double a, double b, Rounding rounding) {
    return propagateNan(DirectedRounding.div(a, b, rounding), b, a); // the first NaN
  }

  static float fmaDirected(float a, float b, float c, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.fma(a, b, c, rounding), rounding));
  }

  static double fmaDirected(double a, double b, double c, Rounding rounding) {
    return propagateNan(DirectedRounding.fma(a, b, c, rounding), a, b, c);
  }

  static float sqrtDirected(float a, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.sqrt(a, rounding), rounding));
  }

  static double sqrtDirected(double a, Rounding rounding) {
    return propagateNan(DirectedRounding.sqrt(a, rounding), a, a);
  }

  static float reciprocalDirected(float a, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.div(1, a, rounding), rounding));
  }

  static double reciprocalDirected(double a, Rounding rounding) {
    return propagateNan(DirectedRounding.div(1, a, rounding), a, a);
  }

  // with .ftz, a result is flushed if it is subnormal when rounded to 24 digits; only a result that
  // rounding to fewer digits makes the least normal number needs a closer look

  static float mulFlushed(float a, float b) {
    float near = a * b;
    return Math.abs(near) == Float.MIN_NORMAL ? flushed(near, product(a, b), Rounding.RN) : near;
  }

  static float fmaFlushed(float a, float b, float c) {
    float near = Math.fma(a, b, c);
    return Math.abs(near) == Float.MIN_NORMAL
        ? flushed(near, fmaToOdd(a, b, c), Rounding.RN)
        : near;
  }

  static float mulDirectedFlushed(float a, float b, Rounding rounding) {
    return narrowFlushed(DirectedRounding.mul(a, b, rounding), rounding);
  }

  static float fmaDirectedFlushed(float a, float b, float c, Rounding rounding) {
    return narrowFlushed(DirectedRounding.fma(a, b, c, rounding), rounding);
  }

  static float divDirectedFlushed(float a, float b, Rounding rounding) {
    return narrowFlushed(DirectedRounding.div(a, b, rounding), rounding);
  }

  static float reciprocalDirectedFlushed(float a, Rounding rounding) {
    return narrowFlushed(DirectedRounding.div(1, a, rounding), rounding);
  }

  private static float narrowFlushed(double a, Rounding rounding) {
    float near = canonical(DirectedRounding.narrow(a, rounding));
    return Math.abs(near) == Float.MIN_NORMAL ? flushed(near, a, rounding) : near;
  }

  /** Returns zero if the least normal number {@code near} comes from a smaller one. */
  private static float flushed(float near, double exact, Rounding rounding) {
    float scaled = DirectedRounding.narrow(exact * 0x1p64, rounding);
    return Math.abs(scaled) < Float.MIN_NORMAL * 0x1p64f ? Math.copySign(0f, near) : near;
  }

  // f16 and bf16

  /** Returns the exact product; bf16 would round a subnormal product twice as a float. */
  static double product(float a, float b) {
    return (double) a * b;
  }

  /** Rounds to odd, for a second rounding to at most 24 digits. */
  static double fmaToOdd(float a, float b, float c) {
    return DirectedRounding.addToOdd((double) a * b, c);
  }

  // approximations

  /** Returns 0 for a divisor above 2^126, like a product with a flushed reciprocal. */
  static float divApprox(float a, float b) {
    return Math.abs(b) > 0x1p126f && Float.isFinite(b)
        ? Float.isInfinite(a) ? NAN : canonical(a * Math.copySign(0f, b))
        : canonical(a / b);
  }

  /** Flushes subnormal operands even without {@code .ftz}, like ptxas when it folds constants. */
  static float sin(float a) {
    return canonical((float) Math.sin(LaneFunctions.flush(a)));
  }

  static float cos(float a) {
    return canonical((float) Math.cos(LaneFunctions.flush(a)));
  }

  /**
   * Uses the upper 32 bits of the operand; the lower half of the result is zero. A NaN with its
   * payload in the lower half is an infinity.
   */
  static double reciprocalUpper(double a) {
    return upper(1 / upperOperand(a));
  }

  static double reciprocalSqrtUpper(double a) {
    return upper(1 / Math.sqrt(upperOperand(a)));
  }

  private static double upperOperand(double a) {
    double cut = Double.longBitsToDouble(Double.doubleToRawLongBits(a) & 0xFFFF_FFFF_0000_0000L);
    return Math.abs(cut) < Double.MIN_NORMAL ? Math.copySign(0.0, cut) : cut;
  }

  private static double upper(double a) {
    if (isNaN(a)) {
      return Double.longBitsToDouble(0x7FFF_FFFF_0000_0000L);
    }
    long nearest = (Double.doubleToRawLongBits(a) + 0x8000_0000L) & 0xFFFF_FFFF_0000_0000L;
    return Math.abs(a) < Double.MIN_NORMAL
        ? Math.copySign(0.0, a)
        : Double.longBitsToDouble(nearest);
  }

  static float copySign(float a, float b) {
    return Float.intBitsToFloat(
        (Float.floatToRawIntBits(a) & 0x8000_0000) | (Float.floatToRawIntBits(b) & 0x7FFF_FFFF));
  }

  static double copySign(double a, double b) {
    return Double.longBitsToDouble(
        (Double.doubleToRawLongBits(a) & Long.MIN_VALUE)
            | (Double.doubleToRawLongBits(b) & Long.MAX_VALUE));
  }

  // testp

  static boolean isFinite(float a) {
    return Float.isFinite(a);
  }

  static boolean isFinite(double a) {
    return Double.isFinite(a);
  }

  static boolean isInfinite(float a) {
    return Float.isInfinite(a);
  }

  static boolean isInfinite(double a) {
    return Double.isInfinite(a);
  }

  static boolean isNumber(float a) {
    return !isNaN(a);
  }

  static boolean isNumber(double a) {
    return !isNaN(a);
  }

  static boolean isNotNumber(float a) {
    return isNaN(a);
  }

  static boolean isNotNumber(double a) {
    return isNaN(a);
  }

  // zeros are normal, as the manual defines

  static boolean isNormal(float a) {
    return Float.isFinite(a) && !isSubnormal(a);
  }

  static boolean isNormal(double a) {
    return Double.isFinite(a) && !isSubnormal(a);
  }

  static boolean isSubnormal(float a) {
    return a != 0 && Math.abs(a) < Float.MIN_NORMAL;
  }

  static boolean isSubnormal(double a) {
    return a != 0 && Math.abs(a) < Double.MIN_NORMAL;
  }
}
