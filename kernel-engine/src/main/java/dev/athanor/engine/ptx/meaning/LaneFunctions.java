package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifier.Logic;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Type;

/**
 * Functions that {@link Semantics.Pure} instructions compute in one lane. A row names a function,
 * and its types select the overload; trailing modifier parameters receive the instruction's
 * modifiers. 8- and 16-bit values are passed sign- or zero-extended by type; results are truncated.
 *
 * <p>Approximate functions round a more exact value, like ptxas when it folds constants; a GPU may
 * deviate within the bounds of PTX ISA 9.7.3.
 */
public final class LaneFunctions {

  private static final float LEAST_NORMAL_HALF = 0x1p-14f - 0x1p-26f;

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

  static long pack4(int a, int b, int c, int d) {
    return pack64(pack(a, b), pack(c, d));
  }

  static int quarter0(long a) {
    return low16(low32(a));
  }

  static int quarter1(long a) {
    return high16(low32(a));
  }

  static int quarter2(long a) {
    return low16(high32(a));
  }

  static int quarter3(long a) {
    return high16(high32(a));
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

  /** Truncates a value to the width of a type and extends it by the type's sign. */
  static int truncate(Type type, int value) {
    return switch (type.bits() * (type.kind() == Type.Kind.SIGNED ? -1 : 1)) {
      case -8 -> (byte) value;
      case -16 -> (short) value;
      case 8 -> value & 0xFF;
      case 16 -> value & 0xFFFF;
      default -> value;
    };
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
   * Shifts; amounts are unsigned and clamp at the width (PTX ISA 9.7.8.8). The caller truncates
   * 16-bit results.
   */
  static int shl(int a, int b) {
    return Integer.compareUnsigned(b, 31) > 0 ? 0 : a << b;
  }

  static long shl(long a, int b) {
    return Integer.compareUnsigned(b, 63) > 0 ? 0 : a << b;
  }

  static int shr(int a, int b) {
    return a >> IntegerFunctions.minUnsigned(b, 31);
  }

  static long shr(long a, int b) {
    return a >> IntegerFunctions.minUnsigned(b, 63);
  }

  static int shrUnsigned(int a, int b) {
    return Integer.compareUnsigned(b, 31) > 0 ? 0 : a >>> b;
  }

  static long shrUnsigned(long a, int b) {
    return Integer.compareUnsigned(b, 63) > 0 ? 0 : a >>> b;
  }

  // comparison

  // if-chains, because C2 folds them for a constant comparison, unlike a
  // switch over an enum

  static boolean compare(int a, int b, Comparison comparison) {
    if (comparison == Comparison.EQ) {
      return a == b;
    } else if (comparison == Comparison.NE) {
      return a != b;
    } else if (comparison == Comparison.LT || comparison == Comparison.LO) {
      return a < b;
    } else if (comparison == Comparison.LE || comparison == Comparison.LS) {
      return a <= b;
    } else if (comparison == Comparison.GT || comparison == Comparison.HI) {
      return a > b;
    } else if (comparison == Comparison.GE || comparison == Comparison.HS) {
      return a >= b;
    }
    throw notForIntegers(comparison);
  }

  static boolean compare(long a, long b, Comparison comparison) {
    if (comparison == Comparison.EQ) {
      return a == b;
    } else if (comparison == Comparison.NE) {
      return a != b;
    } else if (comparison == Comparison.LT || comparison == Comparison.LO) {
      return a < b;
    } else if (comparison == Comparison.LE || comparison == Comparison.LS) {
      return a <= b;
    } else if (comparison == Comparison.GT || comparison == Comparison.HI) {
      return a > b;
    } else if (comparison == Comparison.GE || comparison == Comparison.HS) {
      return a >= b;
    }
    throw notForIntegers(comparison);
  }

  static boolean compareUnsigned(int a, int b, Comparison comparison) {
    return compare(a + Integer.MIN_VALUE, b + Integer.MIN_VALUE, comparison);
  }

  static boolean compareUnsigned(long a, long b, Comparison comparison) {
    return compare(a + Long.MIN_VALUE, b + Long.MIN_VALUE, comparison);
  }

  static boolean compare(float a, float b, Comparison comparison) {
    return compare((double) a, (double) b, comparison);
  }

  /**
   * Compares; with NaN, comparisons with suffix {@code u} are true, others false (PTX ISA 9.3.1.2).
   */
  static boolean compare(double a, double b, Comparison comparison) {
    if (comparison == Comparison.EQ) {
      return a == b;
    } else if (comparison == Comparison.NE) {
      return a < b || a > b;
    } else if (comparison == Comparison.LT) {
      return a < b;
    } else if (comparison == Comparison.LE) {
      return a <= b;
    } else if (comparison == Comparison.GT) {
      return a > b;
    } else if (comparison == Comparison.GE) {
      return a >= b;
    }
    return compareOrNan(a, b, comparison);
  }

  private static boolean compareOrNan(double a, double b, Comparison comparison) {
    if (comparison == Comparison.EQU) {
      return !(a < b || a > b);
    } else if (comparison == Comparison.NEU) {
      return a != b;
    } else if (comparison == Comparison.LTU) {
      return !(a >= b);
    } else if (comparison == Comparison.LEU) {
      return !(a > b);
    } else if (comparison == Comparison.GTU) {
      return !(a <= b);
    } else if (comparison == Comparison.GEU) {
      return !(a < b);
    } else if (comparison == Comparison.NUM) {
      return !Double.isNaN(a) && !Double.isNaN(b);
    } else if (comparison == Comparison.NAN) {
      return Double.isNaN(a) || Double.isNaN(b);
    }
    throw unsignedOnly(comparison);
  }

  private static IllegalArgumentException notForIntegers(Comparison comparison) {
    return new IllegalArgumentException("." + comparison.word() + " does not compare integers");
  }

  private static IllegalArgumentException unsignedOnly(Comparison comparison) {
    return new IllegalArgumentException(
        "." + comparison.word() + " compares unsigned integers only");
  }

  static boolean combine(boolean compared, boolean other, Logic logic) {
    return logic == Logic.AND
        ? compared && other
        : logic == Logic.OR ? compared || other : compared ^ other;
  }

  static boolean isNotZero(int a) {
    return a != 0;
  }

  /** Returns the first operand; another result uses the second. */
  static int first(int a, boolean b) {
    return a;
  }

  static int toMask(boolean a) {
    return a ? -1 : 0;
  }

  static float oneIfTrue(boolean a) {
    return a ? 1 : 0;
  }

  static int selectBySign(int a, int b, int c) {
    return c >= 0 ? a : b;
  }

  /** Selects; -0 is positive, NaN negative. */
  static int selectBySign(int a, int b, float c) {
    return c >= 0 ? a : b;
  }

  static long selectBySign(long a, long b, int c) {
    return c >= 0 ? a : b;
  }

  /** Selects; -0 is positive, NaN negative. */
  static long selectBySign(long a, long b, float c) {
    return c >= 0 ? a : b;
  }

  static float selectBySign(float a, float b, int c) {
    return c >= 0 ? a : b;
  }

  /** Selects; -0 is positive, NaN negative. */
  static float selectBySign(float a, float b, float c) {
    return c >= 0 ? a : b;
  }

  static double selectBySign(double a, double b, int c) {
    return c >= 0 ? a : b;
  }

  /** Selects; -0 is positive, NaN negative. */
  static double selectBySign(double a, double b, float c) {
    return c >= 0 ? a : b;
  }

  // filters of operands and results, selected by modifiers

  /** Flushes subnormals to a zero of the same sign: {@code .ftz}. */
  static float flush(float a) {
    return Math.abs(a) < Float.MIN_NORMAL ? Math.copySign(0f, a) : a;
  }

  static int flushHalf(int a) {
    return (a & 0x7C00) == 0 ? a & 0x8000 : a;
  }

  /** Flushes a result that is subnormal when rounded to the 11 digits of f16. */
  static float flushHalf(float a) {
    return Math.abs(a) < LEAST_NORMAL_HALF ? Math.copySign(0f, a) : a;
  }

  static double flushHalf(double a) {
    return Math.abs(a) < LEAST_NORMAL_HALF ? Math.copySign(0.0, a) : a;
  }

  /** Clamps to [+0, 1]; NaN becomes +0: {@code .sat}. */
  static float saturate(float a) {
    return a > 0 ? Math.min(a, 1) : 0;
  }

  static double saturate(double a) {
    return a > 0 ? Math.min(a, 1) : 0;
  }

  /** Replaces negative numbers by +0; keeps NaN: {@code .relu}. */
  static float relu(float a) {
    return a <= 0 ? 0 : a;
  }

  static double relu(double a) {
    return a <= 0 ? 0 : a;
  }

  static int lowHalf(int a) {
    return a & 0xFFFF;
  }

  static int highHalf(int a) {
    return a >>> 16;
  }

  static int lowByte(int a) {
    return a & 0xFF;
  }

  static int highByte(int a) {
    return (a >>> 8) & 0xFF;
  }

  static int packBytes(int low, int high) {
    return (low & 0xFF) | ((high & 0xFF) << 8);
  }
}
