package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;

/**
 * Lane functions of floating-point numbers (PTX ISA 9.7.3 to 9.7.5); see {@link LaneFunctions}.
 * Those on f16 and bf16 are the ones on float: their values are exact there, and a sum rounded to
 * 24 digits and then to 11 is as if rounded once.
 *
 * <p>NaNs are canonical, but those that f32 sums and products to nearest make are the JVM's:
 * whoever executes them sees to that, since a test here would keep loops from being vectorised.
 */
final class FloatFunctions {

  /** The NaN that the hardware makes. */
  private static final float NAN = Float.intBitsToFloat(0x7FFF_FFFF);

  /** The bit that tells a quiet NaN from a signalling one. */
  private static final long QUIET = 0x0008_0000_0000_0000L;

  /** The result of an invalid operation on f64. */
  private static final double INVALID = Double.longBitsToDouble(0xFFF8_0000_0000_0000L);

  private FloatFunctions() {}

  static float add(float a, float b) {
    return a + b;
  }

  static double add(double a, double b) {
    return defined(a + b, a, b);
  }

  static float sub(float a, float b) {
    return a - b;
  }

  static double sub(double a, double b) {
    return defined(a - b, a, b);
  }

  static float mul(float a, float b) {
    return a * b;
  }

  static double mul(double a, double b) {
    return defined(a * b, a, b);
  }

  static float fma(float a, float b, float c) {
    return Math.fma(a, b, c);
  }

  static double fma(double a, double b, double c) {
    return defined(Math.fma(a, b, c), a, isNaN(b) ? b : c);
  }

  static float div(float a, float b) {
    return canonical(a / b);
  }

  static double div(double a, double b) {
    return defined(a / b, a, b);
  }

  static float abs(float a) {
    return Math.abs(a);
  }

  static double abs(double a) {
    return Math.abs(a);
  }

  static float neg(float a) {
    return -a;
  }

  static double neg(double a) {
    return -a;
  }

  /** A NaN loses to a number, and -0 is less than +0; two make the canonical NaN. */
  static float min(float a, float b) {
    return isNaN(a) ? (isNaN(b) ? NAN : b) : isNaN(b) ? a : Math.min(a, b);
  }

  static float max(float a, float b) {
    return isNaN(a) ? (isNaN(b) ? NAN : b) : isNaN(b) ? a : Math.max(a, b);
  }

  static double min(double a, double b) {
    return isNaN(a) ? (isNaN(b) ? a : b) : isNaN(b) ? a : Math.min(a, b);
  }

  static double max(double a, double b) {
    return isNaN(a) ? (isNaN(b) ? a : b) : isNaN(b) ? a : Math.max(a, b);
  }

  /** A NaN beats a number. */
  static float minOrNan(float a, float b) {
    return isNaN(a) || isNaN(b) ? NAN : Math.min(a, b);
  }

  /** Of the absolute values, with the product's sign. */
  static float minXorSign(float a, float b) {
    return signed(min(Math.abs(a), Math.abs(b)), a, b);
  }

  static float minOrNanXorSign(float a, float b) {
    return signed(minOrNan(Math.abs(a), Math.abs(b)), a, b);
  }

  /** A NaN beats a number. */
  static float maxOrNan(float a, float b) {
    return isNaN(a) || isNaN(b) ? NAN : Math.max(a, b);
  }

  /** Of the absolute values, with the product's sign. */
  static float maxXorSign(float a, float b) {
    return signed(max(Math.abs(a), Math.abs(b)), a, b);
  }

  static float maxOrNanXorSign(float a, float b) {
    return signed(maxOrNan(Math.abs(a), Math.abs(b)), a, b);
  }

  static float minOfSizes(float a, float b, float c) {
    return min(min(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  static float minOrNanOfSizes(float a, float b, float c) {
    return minOrNan(minOrNan(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  static float maxOfSizes(float a, float b, float c) {
    return max(max(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  static float maxOrNanOfSizes(float a, float b, float c) {
    return maxOrNan(maxOrNan(Math.abs(a), Math.abs(b)), Math.abs(c));
  }

  private static float signed(float size, float a, float b) {
    int sign = (Float.floatToRawIntBits(a) ^ Float.floatToRawIntBits(b)) & Integer.MIN_VALUE;
    return isNaN(size) ? size : Float.intBitsToFloat(Float.floatToRawIntBits(size) | sign);
  }

  static float reciprocal(float a) {
    return canonical(1 / a);
  }

  static double reciprocal(double a) {
    return defined(1 / a, a, a);
  }

  static double reciprocalSqrt(double a) {
    return defined(1 / Math.sqrt(a), a, a);
  }

  static float sqrt(float a) {
    return canonical((float) Math.sqrt(a));
  }

  static double sqrt(double a) {
    return defined(Math.sqrt(a), a, a);
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

  /** A NaN loses its payload. */
  static float canonical(float a) {
    return isNaN(a) ? NAN : a;
  }

  /**
   * A result of f64, of whose NaNs the manual says only that payloads are kept: the first operand
   * that is one, made quiet. On its own the JVM may take either.
   */
  private static double defined(double result, double a, double b) {
    if (!isNaN(result)) {
      return result;
    }
    double of = isNaN(a) ? a : b;
    return isNaN(of) ? quiet(of) : INVALID;
  }

  /** A NaN keeps its sign and payload, and signals no more. */
  static double quiet(double nan) {
    return Double.longBitsToDouble(Double.doubleToRawLongBits(nan) | QUIET);
  }

  private static boolean isNaN(float a) {
    return Float.isNaN(a);
  }

  private static boolean isNaN(double a) {
    return Double.isNaN(a);
  }

  // rounded in a direction

  static float addDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.add(a, b, rounding), rounding));
  }

  static double addDirected(double a, double b, Rounding rounding) {
    return defined(DirectedRounding.add(a, b, rounding), a, b);
  }

  static float subDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.add(a, -b, rounding), rounding));
  }

  static double subDirected(double a, double b, Rounding rounding) {
    return defined(DirectedRounding.add(a, -b, rounding), a, b);
  }

  static float mulDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.mul(a, b, rounding), rounding));
  }

  static double mulDirected(double a, double b, Rounding rounding) {
    return defined(DirectedRounding.mul(a, b, rounding), a, b);
  }

  static float divDirected(float a, float b, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.div(a, b, rounding), rounding));
  }

  static double divDirected(double a, double b, Rounding rounding) {
    return defined(DirectedRounding.div(a, b, rounding), a, b);
  }

  static float fmaDirected(float a, float b, float c, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.fma(a, b, c, rounding), rounding));
  }

  static double fmaDirected(double a, double b, double c, Rounding rounding) {
    return defined(DirectedRounding.fma(a, b, c, rounding), a, isNaN(b) ? b : c);
  }

  static float sqrtDirected(float a, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.sqrt(a, rounding), rounding));
  }

  static double sqrtDirected(double a, Rounding rounding) {
    return defined(DirectedRounding.sqrt(a, rounding), a, a);
  }

  static float reciprocalDirected(float a, Rounding rounding) {
    return canonical(DirectedRounding.narrow(DirectedRounding.div(1, a, rounding), rounding));
  }

  static double reciprocalDirected(double a, Rounding rounding) {
    return defined(DirectedRounding.div(1, a, rounding), a, a);
  }

  // f16 and bf16

  /** Exact; bf16 would be rounded twice where the product is subnormal as a float. */
  static double product(float a, float b) {
    return (double) a * b;
  }

  /** To be rounded to a format of at most 24 digits. */
  static double fmaToOdd(float a, float b, float c) {
    return DirectedRounding.addToOdd((double) a * b, c);
  }

  static int flipSign(int a) {
    return a ^ 0x8000;
  }

  static int clearSign(int a) {
    return a & 0x7FFF;
  }

  // approximations

  /** Division by what is greater than 2^126 gives 0, as the product with a flushed reciprocal. */
  static float divApprox(float a, float b) {
    return Math.abs(b) > 0x1p126f && Float.isFinite(b)
        ? Float.isInfinite(a) ? NAN : canonical(a * Math.copySign(0f, b))
        : canonical(a / b);
  }

  /** A subnormal operand is flushed even without {@code .ftz}, as ptxas folds it. */
  static float sin(float a) {
    return canonical((float) Math.sin(LaneFunctions.flush(a)));
  }

  static float cos(float a) {
    return canonical((float) Math.cos(LaneFunctions.flush(a)));
  }

  /** Of the upper 32 bits, whose lower half is zero in the result. */
  static double reciprocalUpper(double a) {
    return upper(1 / upperOperand(a));
  }

  static double reciprocalSqrtUpper(double a) {
    return upper(1 / Math.sqrt(upperOperand(a)));
  }

  private static double upperOperand(double a) {
    double cut = Double.longBitsToDouble(Double.doubleToRawLongBits(a) & 0xFFFF_FFFF_0000_0000L);
    return Math.abs(cut) < Double.MIN_NORMAL ? Math.copySign(0.0, cut) : isNaN(a) ? a : cut;
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

  // Zeros are normal numbers, as the manual says.

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
