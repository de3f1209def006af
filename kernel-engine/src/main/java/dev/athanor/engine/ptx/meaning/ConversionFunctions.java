package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Type;

/**
 * Lane functions of {@code cvt} (PTX ISA 9.7.9.21); see {@link LaneFunctions}. {@link SmallFloat}
 * decodes and rounds f16, bf16 and 8-bit formats.
 */
final class ConversionFunctions {

  private static final int TF32_NAN = 0x7FFF_E000;

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

  /** Converts half the value with a sticky bit, so that the conversion rounds correctly once. */
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

  /** Saturates and converts NaN to 0 (PTX ISA 9.7.9.21), like Java's cast. */
  static int toInt(float a, Rounding rounding) {
    return (int) roundToIntegral(a, rounding);
  }

  static int toInt(double a, Rounding rounding) {
    return isNaN(a) ? Integer.MIN_VALUE : (int) roundToIntegral(a, rounding);
  }

  /** With a 64-bit type on either side, NaN becomes the smallest integer. */
  static long toLong(float a, Rounding rounding) {
    return isNaN(a) ? Long.MIN_VALUE : (long) roundToIntegral(a, rounding);
  }

  static long toLong(double a, Rounding rounding) {
    return isNaN(a) ? Long.MIN_VALUE : (long) roundToIntegral(a, rounding);
  }

  /**
   * Handles NaN itself: the sign that the JVM's rounding keeps differs between interpreter and JIT.
   */
  static double integral(double a, Rounding rounding) {
    return isNaN(a) ? FloatFunctions.quiet(a) : roundToIntegral(a, rounding);
  }

  private static double roundToIntegral(double a, Rounding rounding) {
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

  /**
   * Narrows to f16 or bf16; keeps the sign and the upper bits of the payload of a NaN, which
   * becomes quiet.
   */
  static int narrowHalf(double a, Type to, Rounding rounding) {
    if (!isNaN(a)) {
      return SmallFloat.encode(a, to, rounding, false);
    }
    int digits = to == Type.F16 ? 10 : 7;
    long bits = Double.doubleToRawLongBits(a);
    int sign = (int) (bits >>> 48) & 0x8000;
    int payload = (int) (bits >>> (52 - digits)) & ((1 << digits) - 1);
    int quiet = 0x7FFF & -(1 << (digits - 1));
    return sign | quiet | payload;
  }

  /** Widens f16 or bf16; keeps the payload of a NaN, which becomes quiet. */
  static double widenHalf(float a) {
    return isNaN(a) ? FloatFunctions.quiet(a) : a;
  }

  static float narrow(double a) {
    return (float) a;
  }

  static float integral(float a, Rounding rounding) {
    return isNaN(a) ? FloatFunctions.canonical(a) : (float) roundToIntegral(a, rounding);
  }

  static int toIntUnsigned(float a, Rounding rounding) {
    return (int) toUnsigned(a, rounding, Type.U32, 0);
  }

  /** Converts to any integer type; NaN becomes 0 if the type is narrower than 64 bits. */
  static long toInteger(float a, Rounding rounding, Type to) {
    return toInteger(a, rounding, to, to.bits() == 64 ? Long.MIN_VALUE : 0);
  }

  /** Converts to any integer type; NaN becomes the type's top bit. */
  static long toInteger(double a, Rounding rounding, Type to) {
    return toInteger(a, rounding, to, 1L << (to.bits() - 1));
  }

  private static long toInteger(double a, Rounding rounding, Type to, long nan) {
    return to.kind() == Type.Kind.SIGNED
        ? isNaN(a) ? nan : clamp((long) roundToIntegral(a, rounding), to)
        : toUnsigned(a, rounding, to, nan);
  }

  private static long toUnsigned(double a, Rounding rounding, Type to, long nan) {
    if (isNaN(a)) {
      return nan;
    }
    double whole = roundToIntegral(a, rounding);
    if (whole >= 0x1p64) {
      return clampUnsigned(-1L, to);
    }
    return whole <= 0
        ? 0
        : clampUnsigned(
            whole >= 0x1p63 ? (long) (whole - 0x1p63) ^ Long.MIN_VALUE : (long) whole, to);
  }

  /** Clamps to the range of a type: {@code .sat}. */
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

  // integers to floating point with directed rounding: the sum of two exact halves

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

  /** Rounds to odd, for a second rounding to f16 or bf16. */
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

  /**
   * Rounds to the upper 19 bits. {@code .rna} keeps the payload of a NaN, the other modes return
   * the canonical one.
   */
  static int toTf32(float a, Rounding rounding) {
    int bits = Float.floatToRawIntBits(a);
    if (isNaN(a) && rounding != Rounding.RNA) {
      return TF32_NAN;
    }
    int half =
        switch (rounding) {
          case RNA -> 0x1000;
          case RN -> 0xFFF + ((bits >>> 13) & 1);
          default -> 0;
        };
    return (Float.isFinite(a) ? bits + half : bits) & 0xFFFF_E000;
  }

  /** Rounds like {@link #toTf32}, but replaces overflow by the largest finite number. */
  static int toTf32Finite(float a, Rounding rounding) {
    int rounded = toTf32(a, rounding);
    return isNaN(a)
        ? 0x7FFF_FFFF
        : (rounded & 0x7F80_0000) == 0x7F80_0000 ? (rounded & 0x8000_0000) | 0x7F7F_E000 : rounded;
  }

  /**
   * Rounds like {@link #toTf32}, and subtracts the last place of an infinite result, which gives
   * the largest finite number. ptxas emits this for {@code .rna.satfinite} and applies it to NaNs
   * too.
   */
  static int toTf32StepBack(float a, Rounding rounding) {
    int rounded = toTf32(a, rounding);
    return (rounded & 0x7F80_0000) == 0x7F80_0000 ? rounded - 0x2000 : rounded;
  }

  static int toTf32FiniteRelu(float a, Rounding rounding) {
    return isNaN(a) || a > 0 ? toTf32Finite(a, rounding) : 0;
  }

  static int toTf32Relu(float a, Rounding rounding) {
    return isNaN(a) || a > 0 ? toTf32(a, rounding) : 0;
  }

  /** Clamps two numbers to 16 bits and packs them, the first into the upper half. */
  static int packHalves(int a, int b, Type to) {
    return ((int) clamp(a, to) << 16) | ((int) clamp(b, to) & 0xFFFF);
  }

  /**
   * Clamps two numbers to 8 bits and packs them, the first above the second, below the low half of
   * a third.
   */
  static int packBytes(int a, int b, int rest, Type to) {
    return (rest << 16) | (((int) clamp(a, to) & 0xFF) << 8) | ((int) clamp(b, to) & 0xFF);
  }

  private static boolean isNaN(double a) {
    return Double.isNaN(a);
  }
}
