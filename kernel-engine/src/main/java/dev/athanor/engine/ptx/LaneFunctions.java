package dev.athanor.engine.ptx;

import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifier.Rounding;

/**
 * What {@link Semantics.Pure} instructions compute in one lane. A row names a function and its
 * types choose the overload; trailing parameters that are modifiers get the instruction's. Values
 * of 8 and 16 bits come sign- or zero-extended as their type says, and are cut to their width
 * after.
 *
 * <p>The approximate functions are rounded from a more exact value, as ptxas folds them; a GPU may
 * differ by the bounds of PTX ISA 9.7.3.
 */
final class LaneFunctions {

  private LaneFunctions() {}

  // data movement

  static boolean identity(boolean a) {
    return a;
  }

  static int identity(int a) {
    return a;
  }

  static long identity(long a) {
    return a;
  }

  static float identity(float a) {
    return a;
  }

  static double identity(double a) {
    return a;
  }

  static int pack(int low, int high) {
    return (low & 0xFFFF) | (high << 16);
  }

  static long pack64(int low, int high) {
    return (low & 0xFFFF_FFFFL) | ((long) high << 32);
  }

  static int low16(int a) {
    return a & 0xFFFF;
  }

  static int high16(int a) {
    return a >>> 16;
  }

  static int low32(long a) {
    return (int) a;
  }

  static int high32(long a) {
    return (int) (a >>> 32);
  }

  static int select(int a, int b, boolean c) {
    return c ? a : b;
  }

  static long select(long a, long b, boolean c) {
    return c ? a : b;
  }

  static float select(float a, float b, boolean c) {
    return c ? a : b;
  }

  static double select(double a, double b, boolean c) {
    return c ? a : b;
  }

  /** The low bits that the type has, extended as its sign says. */
  static int cut(Type type, int value) {
    return switch (type.bits() * (type.kind() == Type.Kind.SIGNED ? -1 : 1)) {
      case -8 -> (byte) value;
      case -16 -> (short) value;
      case 8 -> value & 0xFF;
      case 16 -> value & 0xFFFF;
      default -> value;
    };
  }

  // integers

  static int add(int a, int b) {
    return a + b;
  }

  static long add(long a, long b) {
    return a + b;
  }

  static int sub(int a, int b) {
    return a - b;
  }

  static long sub(long a, long b) {
    return a - b;
  }

  static int mul(int a, int b) {
    return a * b;
  }

  static long mul(long a, long b) {
    return a * b;
  }

  static int mulHigh(int a, int b) {
    return (int) (((long) a * b) >> 32);
  }

  static long mulHigh(long a, long b) {
    return Math.multiplyHigh(a, b);
  }

  static int mulHighUnsigned(int a, int b) {
    return (int) (((a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL)) >>> 32);
  }

  static long mulHighUnsigned(long a, long b) {
    return Math.unsignedMultiplyHigh(a, b);
  }

  static long mulWide(int a, int b) {
    return (long) a * b;
  }

  static long mulWideUnsigned(int a, int b) {
    return (a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL);
  }

  static int mad(int a, int b, int c) {
    return a * b + c;
  }

  static long mad(long a, long b, long c) {
    return a * b + c;
  }

  static long madWide(int a, int b, long c) {
    return (long) a * b + c;
  }

  static long madWideUnsigned(int a, int b, long c) {
    return (a & 0xFFFF_FFFFL) * (b & 0xFFFF_FFFFL) + c;
  }

  /** Division by zero is unspecified; ptxas folds it to all ones. */
  static int div(int a, int b) {
    return b == 0 ? -1 : a / b;
  }

  static long div(long a, long b) {
    return b == 0 ? -1 : a / b;
  }

  static int divUnsigned(int a, int b) {
    return b == 0 ? -1 : Integer.divideUnsigned(a, b);
  }

  static long divUnsigned(long a, long b) {
    return b == 0 ? -1 : Long.divideUnsigned(a, b);
  }

  static int rem(int a, int b) {
    return b == 0 ? -1 : a % b;
  }

  static long rem(long a, long b) {
    return b == 0 ? -1 : a % b;
  }

  static int remUnsigned(int a, int b) {
    return b == 0 ? -1 : Integer.remainderUnsigned(a, b);
  }

  static long remUnsigned(long a, long b) {
    return b == 0 ? -1 : Long.remainderUnsigned(a, b);
  }

  static int abs(int a) {
    return Math.abs(a);
  }

  static long abs(long a) {
    return Math.abs(a);
  }

  static int neg(int a) {
    return -a;
  }

  static long neg(long a) {
    return -a;
  }

  static int min(int a, int b) {
    return Math.min(a, b);
  }

  static long min(long a, long b) {
    return Math.min(a, b);
  }

  static int max(int a, int b) {
    return Math.max(a, b);
  }

  static long max(long a, long b) {
    return Math.max(a, b);
  }

  static int minUnsigned(int a, int b) {
    return Integer.compareUnsigned(a, b) <= 0 ? a : b;
  }

  static long minUnsigned(long a, long b) {
    return Long.compareUnsigned(a, b) <= 0 ? a : b;
  }

  static int maxUnsigned(int a, int b) {
    return Integer.compareUnsigned(a, b) >= 0 ? a : b;
  }

  static long maxUnsigned(long a, long b) {
    return Long.compareUnsigned(a, b) >= 0 ? a : b;
  }

  // logic and shifts

  static boolean and(boolean a, boolean b) {
    return a && b;
  }

  static int and(int a, int b) {
    return a & b;
  }

  static long and(long a, long b) {
    return a & b;
  }

  static boolean or(boolean a, boolean b) {
    return a || b;
  }

  static int or(int a, int b) {
    return a | b;
  }

  static long or(long a, long b) {
    return a | b;
  }

  static boolean xor(boolean a, boolean b) {
    return a ^ b;
  }

  static int xor(int a, int b) {
    return a ^ b;
  }

  static long xor(long a, long b) {
    return a ^ b;
  }

  static boolean not(boolean a) {
    return !a;
  }

  static int not(int a) {
    return ~a;
  }

  static long not(long a) {
    return ~a;
  }

  /**
   * Amounts are unsigned and clamp at the width (PTX ISA 9.7.8.8). Of 16-bit values the rest is cut
   * off after.
   */
  static int shl(int a, int b) {
    return Integer.compareUnsigned(b, 31) > 0 ? 0 : a << b;
  }

  static long shl(long a, int b) {
    return Integer.compareUnsigned(b, 63) > 0 ? 0 : a << b;
  }

  static int shr(int a, int b) {
    return a >> minUnsigned(b, 31);
  }

  static long shr(long a, int b) {
    return a >> minUnsigned(b, 63);
  }

  static int shrUnsigned(int a, int b) {
    return Integer.compareUnsigned(b, 31) > 0 ? 0 : a >>> b;
  }

  static long shrUnsigned(long a, int b) {
    return Integer.compareUnsigned(b, 63) > 0 ? 0 : a >>> b;
  }

  // floating point

  static float add(float a, float b) {
    return a + b;
  }

  static double add(double a, double b) {
    return a + b;
  }

  static float sub(float a, float b) {
    return a - b;
  }

  static double sub(double a, double b) {
    return a - b;
  }

  static float mul(float a, float b) {
    return a * b;
  }

  static double mul(double a, double b) {
    return a * b;
  }

  static float fma(float a, float b, float c) {
    return Math.fma(a, b, c);
  }

  static double fma(double a, double b, double c) {
    return Math.fma(a, b, c);
  }

  static float div(float a, float b) {
    return a / b;
  }

  static double div(double a, double b) {
    return a / b;
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

  /** A NaN loses to a number, and -0 is less than +0. */
  static float min(float a, float b) {
    return isNaN(a) ? b : isNaN(b) ? a : Math.min(a, b);
  }

  static double min(double a, double b) {
    return isNaN(a) ? b : isNaN(b) ? a : Math.min(a, b);
  }

  static float max(float a, float b) {
    return isNaN(a) ? b : isNaN(b) ? a : Math.max(a, b);
  }

  static double max(double a, double b) {
    return isNaN(a) ? b : isNaN(b) ? a : Math.max(a, b);
  }

  static float reciprocal(float a) {
    return 1 / a;
  }

  static float sqrt(float a) {
    return (float) Math.sqrt(a);
  }

  static double sqrt(double a) {
    return Math.sqrt(a);
  }

  static float reciprocalSqrt(float a) {
    return (float) (1 / Math.sqrt(a));
  }

  static float log2(float a) {
    return (float) (Math.log(a) / Math.log(2));
  }

  static float exp2(float a) {
    return (float) Math.pow(2, a);
  }

  static float tanh(float a) {
    return (float) Math.tanh(a);
  }

  private static boolean isNaN(double a) {
    return Double.isNaN(a);
  }

  /** Subnormals become a zero of the same sign: {@code .ftz}. */
  static float flush(float a) {
    return Math.abs(a) < Float.MIN_NORMAL ? Math.copySign(0f, a) : a;
  }

  /** Clamps to [+0, 1] with NaN as +0: {@code .sat}. */
  static float saturate(float a) {
    return a > 0 ? Math.min(a, 1) : 0;
  }

  // comparison

  static boolean compare(int a, int b, Comparison comparison) {
    return ordered(Integer.compare(a, b), comparison);
  }

  static boolean compare(long a, long b, Comparison comparison) {
    return ordered(Long.compare(a, b), comparison);
  }

  static boolean compareUnsigned(int a, int b, Comparison comparison) {
    return ordered(Integer.compareUnsigned(a, b), comparison);
  }

  static boolean compareUnsigned(long a, long b, Comparison comparison) {
    return ordered(Long.compareUnsigned(a, b), comparison);
  }

  static boolean compare(float a, float b, Comparison comparison) {
    return compare((double) a, (double) b, comparison);
  }

  /** A comparison with NaN is false, those that end in {@code u} true (PTX ISA 9.3.1.2). */
  static boolean compare(double a, double b, Comparison comparison) {
    return switch (comparison) {
      case EQ -> a == b;
      case NE -> a < b || a > b;
      case LT -> a < b;
      case LE -> a <= b;
      case GT -> a > b;
      case GE -> a >= b;
      case EQU -> !(a < b || a > b);
      case NEU -> a != b;
      case LTU -> !(a >= b);
      case LEU -> !(a > b);
      case GTU -> !(a <= b);
      case GEU -> !(a < b);
      case NUM -> !isNaN(a) && !isNaN(b);
      case NAN -> isNaN(a) || isNaN(b);
      case LO, LS, HI, HS -> throw unsignedOnly(comparison);
    };
  }

  private static boolean ordered(int order, Comparison comparison) {
    return switch (comparison) {
      case EQ -> order == 0;
      case NE -> order != 0;
      case LT, LO -> order < 0;
      case LE, LS -> order <= 0;
      case GT, HI -> order > 0;
      case GE, HS -> order >= 0;
      case EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN ->
          throw new IllegalArgumentException(
              "." + comparison.word() + " does not compare integers");
    };
  }

  private static IllegalArgumentException unsignedOnly(Comparison comparison) {
    return new IllegalArgumentException(
        "." + comparison.word() + " compares unsigned integers only");
  }

  // conversion

  static long zeroExtend(int a) {
    return a & 0xFFFF_FFFFL;
  }

  static long zeroExtend(long a) {
    return a;
  }

  static float toFloat(int a) {
    return a;
  }

  static float toFloat(long a) {
    return a;
  }

  static float toFloatUnsigned(int a) {
    return a & 0xFFFF_FFFFL;
  }

  /** Halved with the lost bit kept, so that the one rounding of the conversion is the right one. */
  static float toFloatUnsigned(long a) {
    return a >= 0 ? a : 2f * ((a >>> 1) | (a & 1));
  }

  static double toDouble(int a) {
    return a;
  }

  static double toDouble(long a) {
    return a;
  }

  static double toDoubleUnsigned(int a) {
    return a & 0xFFFF_FFFFL;
  }

  static double toDoubleUnsigned(long a) {
    return a >= 0 ? a : 2d * ((a >>> 1) | (a & 1));
  }

  /** Saturates, and NaN becomes 0 (PTX ISA 9.7.9.21), as Java's cast does. */
  static int toInt(float a, Rounding rounding) {
    return (int) integral(a, rounding);
  }

  static int toInt(double a, Rounding rounding) {
    return isNaN(a) ? Integer.MIN_VALUE : (int) integral(a, rounding);
  }

  /** Where either side is 64 bits wide NaN becomes the smallest number. */
  static long toLong(float a, Rounding rounding) {
    return isNaN(a) ? Long.MIN_VALUE : (long) integral(a, rounding);
  }

  static long toLong(double a, Rounding rounding) {
    return isNaN(a) ? Long.MIN_VALUE : (long) integral(a, rounding);
  }

  private static double integral(double a, Rounding rounding) {
    return switch (rounding) {
      case RN, RNI -> Math.rint(a);
      case RZ, RZI -> a < 0 ? Math.ceil(a) : Math.floor(a);
      case RM, RMI -> Math.floor(a);
      case RP, RPI -> Math.ceil(a);
    };
  }

  static double widen(float a) {
    return a;
  }

  static float narrow(double a) {
    return (float) a;
  }

  static float halfToFloat(int a) {
    return Float.float16ToFloat((short) a);
  }

  /** A NaN becomes the canonical 0x7fff. */
  static int floatToHalf(float a) {
    return isNaN(a) ? 0x7FFF : Float.floatToFloat16(a) & 0xFFFF;
  }

  /** The first operand goes to the high half. */
  static int floatsToHalves(float high, float low) {
    return (floatToHalf(high) << 16) | floatToHalf(low);
  }

  static float bfloatToFloat(int a) {
    return Float.intBitsToFloat(a << 16);
  }

  /** Rounds to nearest even; a NaN becomes the canonical 0x7fff. */
  static int floatToBfloat(float a) {
    int bits = Float.floatToRawIntBits(a);
    return isNaN(a) ? 0x7FFF : (bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16;
  }

  static int floatsToBfloats(float high, float low) {
    return (floatToBfloat(high) << 16) | floatToBfloat(low);
  }
}
