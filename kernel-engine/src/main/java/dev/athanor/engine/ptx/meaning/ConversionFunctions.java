package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Type;

/**
 * Lane functions of {@code cvt} (PTX ISA 9.7.9.21); see {@link LaneFunctions}. f16, bf16 and the
 * formats of 8 bits are read and rounded by {@link SmallFloat}.
 */
final class ConversionFunctions {

  private ConversionFunctions() {}

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
    return (int) whole(a, rounding);
  }

  static int toInt(double a, Rounding rounding) {
    return isNaN(a) ? Integer.MIN_VALUE : (int) whole(a, rounding);
  }

  /** Where either side is 64 bits wide NaN becomes the smallest number. */
  static long toLong(float a, Rounding rounding) {
    return isNaN(a) ? Long.MIN_VALUE : (long) whole(a, rounding);
  }

  static long toLong(double a, Rounding rounding) {
    return isNaN(a) ? Long.MIN_VALUE : (long) whole(a, rounding);
  }

  /** Of NaNs the JVM's own rounding keeps one sign or another, interpreted or compiled. */
  static double integral(double a, Rounding rounding) {
    return isNaN(a) ? FloatFunctions.quiet(a) : whole(a, rounding);
  }

  private static double whole(double a, Rounding rounding) {
    return switch (rounding) {
      case RN, RNI, RNA -> Math.rint(a);
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

  static float integral(float a, Rounding rounding) {
    return isNaN(a) ? FloatFunctions.canonical(a) : (float) whole(a, rounding);
  }

  static int toIntUnsigned(float a, Rounding rounding) {
    return (int) toUnsigned(a, rounding, Type.U32, 0);
  }

  /** To any integer type; a NaN becomes 0 where that has less than 64 bits. */
  static long toInteger(float a, Rounding rounding, Type to) {
    return toInteger(a, rounding, to, to.bits() == 64 ? Long.MIN_VALUE : 0);
  }

  /** To any integer type; of a NaN only the top bit is set. */
  static long toInteger(double a, Rounding rounding, Type to) {
    return toInteger(a, rounding, to, 1L << (to.bits() - 1));
  }

  private static long toInteger(double a, Rounding rounding, Type to, long nan) {
    return to.kind() == Type.Kind.SIGNED
        ? isNaN(a) ? nan : clamp((long) whole(a, rounding), to)
        : toUnsigned(a, rounding, to, nan);
  }

  private static long toUnsigned(double a, Rounding rounding, Type to, long nan) {
    if (isNaN(a)) {
      return nan;
    }
    double whole = whole(a, rounding);
    if (whole >= 0x1p64) {
      return clampUnsigned(-1L, to);
    }
    return whole <= 0
        ? 0
        : clampUnsigned(
            whole >= 0x1p63 ? (long) (whole - 0x1p63) ^ Long.MIN_VALUE : (long) whole, to);
  }

  /** The nearest value of a type: {@code .sat}. */
  static long clamp(int a, Type to) {
    return clamp((long) a, to);
  }

  static long clamp(long a, Type to) {
    int bits = to.bits();
    if (to.kind() == Type.Kind.SIGNED) {
      long greatest = Long.MAX_VALUE >> (64 - bits);
      return Math.clamp(a, -greatest - 1, greatest);
    }
    return a < 0 ? 0 : clampUnsigned(a, to);
  }

  static long clampUnsigned(int a, Type to) {
    return clampUnsigned(a & 0xFFFF_FFFFL, to);
  }

  static long clampUnsigned(long a, Type to) {
    long greatest =
        to.kind() == Type.Kind.SIGNED ? -1L >>> (65 - to.bits()) : -1L >>> (64 - to.bits());
    return Long.compareUnsigned(a, greatest) > 0 ? greatest : a;
  }

  // integers to floating point in a direction: the sum of two exact halves

  static double toDoubleDirected(int a, Rounding rounding) {
    return a;
  }

  static double toDoubleDirected(long a, Rounding rounding) {
    return DirectedRounding.add((a >> 32) * 0x1p32, (double) (a & 0xFFFF_FFFFL), rounding);
  }

  static double toDoubleDirectedUnsigned(int a, Rounding rounding) {
    return a & 0xFFFF_FFFFL;
  }

  static double toDoubleDirectedUnsigned(long a, Rounding rounding) {
    return DirectedRounding.add((a >>> 32) * 0x1p32, (double) (a & 0xFFFF_FFFFL), rounding);
  }

  static float toFloatDirected(int a, Rounding rounding) {
    return DirectedRounding.narrow(toDoubleDirected(a, rounding), rounding);
  }

  static float toFloatDirected(long a, Rounding rounding) {
    return DirectedRounding.narrow(toDoubleDirected(a, rounding), rounding);
  }

  static float toFloatDirectedUnsigned(int a, Rounding rounding) {
    return DirectedRounding.narrow(toDoubleDirectedUnsigned(a, rounding), rounding);
  }

  static float toFloatDirectedUnsigned(long a, Rounding rounding) {
    return DirectedRounding.narrow(toDoubleDirectedUnsigned(a, rounding), rounding);
  }

  /** To be rounded to f16 or bf16. */
  static double toDoubleToOdd(int a) {
    return a;
  }

  static double toDoubleToOdd(long a) {
    return DirectedRounding.addToOdd((a >> 32) * 0x1p32, (double) (a & 0xFFFF_FFFFL));
  }

  static double toDoubleToOddUnsigned(int a) {
    return a & 0xFFFF_FFFFL;
  }

  static double toDoubleToOddUnsigned(long a) {
    return DirectedRounding.addToOdd((a >>> 32) * 0x1p32, (double) (a & 0xFFFF_FFFFL));
  }

  static float narrowDirected(double a, Rounding rounding) {
    return DirectedRounding.narrow(a, rounding);
  }

  /** The upper 19 bits, with those of the payload of a NaN. */
  static int toTf32(float a, Rounding rounding) {
    int bits = Float.floatToRawIntBits(a);
    int half =
        switch (rounding) {
          case RNA -> 0x1000;
          case RN -> 0xFFF + ((bits >>> 13) & 1);
          default -> 0;
        };
    return (Float.isFinite(a) ? bits + half : bits) & 0xFFFF_E000;
  }

  /** The greatest finite number in the place of greater ones. */
  static int toTf32Finite(float a, Rounding rounding) {
    int rounded = toTf32(a, rounding);
    return isNaN(a)
        ? 0x7FFF_FFFF
        : (rounded & 0x7F80_0000) == 0x7F80_0000 ? (rounded & 0x8000_0000) | 0x7F7F_E000 : rounded;
  }

  static int toTf32FiniteRelu(float a, Rounding rounding) {
    return isNaN(a) || a > 0 ? toTf32Finite(a, rounding) : 0;
  }

  static int toTf32Relu(float a, Rounding rounding) {
    return isNaN(a) ? 0x7FFF_FFFF : a > 0 ? toTf32(a, rounding) : 0;
  }

  /** Two numbers clamped to 16 bits, the first above the second. */
  static int packHalves(int a, int b, Type to) {
    return ((int) clamp(a, to) << 16) | ((int) clamp(b, to) & 0xFFFF);
  }

  /**
   * Two numbers clamped to 8 bits, the first above the second and the low half of a third above.
   */
  static int packBytes(int a, int b, int rest, Type to) {
    return (rest << 16) | (((int) clamp(a, to) & 0xFF) << 8) | ((int) clamp(b, to) & 0xFF);
  }

  private static boolean isNaN(double a) {
    return Double.isNaN(a);
  }
}
