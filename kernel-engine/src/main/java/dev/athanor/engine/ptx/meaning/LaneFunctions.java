package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Comparison;
import dev.athanor.engine.ptx.Modifier.Logic;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.Type;

/**
 * What {@link Semantics.Pure} instructions compute in one lane. A row names a function and its
 * types choose the overload; trailing parameters that are modifiers get the instruction's. Values
 * of 8 and 16 bits come sign- or zero-extended as their type says, and are cut to their width
 * after.
 *
 * <p>The approximate functions are rounded from a more exact value, as ptxas folds them; a GPU may
 * differ by the bounds of PTX ISA 9.7.3.
 */
public final class LaneFunctions {

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

  // chains of conditions, as the JIT decides them where the comparison is a constant, and a switch
  // over an enum it does not

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
    throw notOfIntegers(comparison);
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
    throw notOfIntegers(comparison);
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

  /** A comparison with NaN is false, those that end in {@code u} true (PTX ISA 9.3.1.2). */
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

  private static IllegalArgumentException notOfIntegers(Comparison comparison) {
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

  /** The first of two, where the second is of interest to another result. */
  static int first(int a, boolean b) {
    return a;
  }

  static int toMask(boolean a) {
    return a ? -1 : 0;
  }

  static float toOne(boolean a) {
    return a ? 1 : 0;
  }

  static int selectBySign(int a, int b, int c) {
    return c >= 0 ? a : b;
  }

  /** -0 counts as positive, a NaN as negative. */
  static int selectBySign(int a, int b, float c) {
    return c >= 0 ? a : b;
  }

  static long selectBySign(long a, long b, int c) {
    return c >= 0 ? a : b;
  }

  /** -0 counts as positive, a NaN as negative. */
  static long selectBySign(long a, long b, float c) {
    return c >= 0 ? a : b;
  }

  static float selectBySign(float a, float b, int c) {
    return c >= 0 ? a : b;
  }

  /** -0 counts as positive, a NaN as negative. */
  static float selectBySign(float a, float b, float c) {
    return c >= 0 ? a : b;
  }

  static double selectBySign(double a, double b, int c) {
    return c >= 0 ? a : b;
  }

  /** -0 counts as positive, a NaN as negative. */
  static double selectBySign(double a, double b, float c) {
    return c >= 0 ? a : b;
  }

  // filters that modifiers put before or after a function

  /** Subnormals become a zero of the same sign: {@code .ftz}. */
  static float flush(float a) {
    return Math.abs(a) < Float.MIN_NORMAL ? Math.copySign(0f, a) : a;
  }

  static int flushHalf(int a) {
    return (a & 0x7C00) == 0 ? a & 0x8000 : a;
  }

  /** Clamps to [+0, 1] with NaN as +0: {@code .sat}. */
  static float saturate(float a) {
    return a > 0 ? Math.min(a, 1) : 0;
  }

  static double saturate(double a) {
    return a > 0 ? Math.min(a, 1) : 0;
  }

  /** {@code .relu}: negative numbers become +0, a NaN stays. */
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
