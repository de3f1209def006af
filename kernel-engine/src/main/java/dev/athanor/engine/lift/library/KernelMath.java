package dev.athanor.engine.lift.library;

import dev.athanor.engine.lift.Gpu;

/**
 * The bodies of methods of {@link Math}, of the number classes and of {@link Gpu} that have no
 * instruction of their own. A lifted kernel that calls {@code Math.floorMod} gets the method of the
 * same name and types from here, inlined.
 */
public final class KernelMath {
  private static final int LANES_LOG2 = 5;

  /** Bits of a long beside a significand. */
  private static final int FREE_BITS = 11;

  private KernelMath() {}

  /** As {@link Gpu#warpId}. */
  public static int warpId() {
    int row = Gpu.threadIdxZ() * Gpu.blockDimY() + Gpu.threadIdxY();
    return (row * Gpu.blockDimX() + Gpu.threadIdxX()) >>> LANES_LOG2;
  }

  /** Returns the remainder of a division that rounds to zero, exactly, as {@code %} does. */
  public static float remainder(float x, float y) {
    return (float) remainder((double) x, (double) y);
  }

  /** Returns the remainder of a division that rounds to zero, exactly, as {@code %} does. */
  public static double remainder(double x, double y) {
    double rest = Math.abs(x);
    double divisor = Math.abs(y);
    if (!(rest < Double.POSITIVE_INFINITY) || !(divisor > 0)) {
      return Double.NaN;
    }
    if (rest < divisor) {
      return x;
    }
    long bits = Double.doubleToRawLongBits(rest);
    long divisorBits = Double.doubleToRawLongBits(divisor);
    int exponent = exponent(divisorBits);
    long modulus = significand(divisorBits);
    // long division of integers, 11 digits at a time
    long remainder = Long.remainderUnsigned(significand(bits), modulus);
    for (int digits = exponent(bits) - exponent; digits > 0; digits -= FREE_BITS) {
      remainder = Long.remainderUnsigned(remainder << Math.min(digits, FREE_BITS), modulus);
    }
    long scale = exponent > 52 ? (exponent - 52L) << 52 : 1L << (exponent - 1);
    return copySign(remainder * Double.longBitsToDouble(scale), x);
  }

  /** Returns the exponent of a positive number, where 1 stands for a factor of 2^-1074. */
  private static int exponent(long bits) {
    return Math.max((int) (bits >>> 52), 1);
  }

  private static long significand(long bits) {
    long hidden = bits >>> 52 == 0 ? 0 : 1L << 52;
    return (bits & ((1L << 52) - 1)) | hidden;
  }

  public static int floorDiv(int x, int y) {
    int q = x / y;
    return (x ^ y) < 0 && q * y != x ? q - 1 : q;
  }

  public static long floorDiv(long x, long y) {
    long q = x / y;
    return (x ^ y) < 0 && q * y != x ? q - 1 : q;
  }

  public static long floorDiv(long x, int y) {
    return floorDiv(x, (long) y);
  }

  public static int floorMod(int x, int y) {
    int r = x % y;
    return (r ^ y) < 0 && r != 0 ? r + y : r;
  }

  public static long floorMod(long x, long y) {
    long r = x % y;
    return (r ^ y) < 0 && r != 0 ? r + y : r;
  }

  public static int floorMod(long x, int y) {
    return (int) floorMod(x, (long) y);
  }

  public static int clamp(long value, int min, int max) {
    return (int) Math.min(max, Math.max(value, min));
  }

  public static long clamp(long value, long min, long max) {
    return Math.min(max, Math.max(value, min));
  }

  public static float clamp(float value, float min, float max) {
    return Math.min(max, Math.max(value, min));
  }

  public static double clamp(double value, double min, double max) {
    return Math.min(max, Math.max(value, min));
  }

  public static float signum(float x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
  }

  public static double signum(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
  }

  public static int signum(int x) {
    return (x >> 31) | (-x >>> 31);
  }

  public static int signum(long x) {
    return (int) ((x >> 63) | (-x >>> 63));
  }

  /** Rounds to the nearest int, ties up, as {@link Math#round(float)}. */
  public static int round(float x) {
    return (int) Math.floor((double) x + 0.5);
  }

  /** Rounds to the nearest long, ties up, as {@link Math#round(double)}. */
  public static long round(double x) {
    double floor = Math.floor(x);
    // x + 0.5 may round up; x - floor is exact
    return (long) (x - floor >= 0.5 ? floor + 1 : floor);
  }

  @SuppressWarnings("IdentityBinaryExpression") // Float.isNaN is lifted to this
  public static boolean isNaN(float x) {
    return x != x;
  }

  @SuppressWarnings("IdentityBinaryExpression") // Double.isNaN is lifted to this
  public static boolean isNaN(double x) {
    return x != x;
  }

  public static boolean isInfinite(float x) {
    return Math.abs(x) > Float.MAX_VALUE;
  }

  public static boolean isInfinite(double x) {
    return Math.abs(x) > Double.MAX_VALUE;
  }

  public static boolean isFinite(float x) {
    return Math.abs(x) <= Float.MAX_VALUE;
  }

  public static boolean isFinite(double x) {
    return Math.abs(x) <= Double.MAX_VALUE;
  }

  /** As {@link Math#copySign}; the sign of NaN counts. */
  public static float copySign(float magnitude, float sign) {
    int bits = Float.floatToRawIntBits(magnitude) & Integer.MAX_VALUE;
    return Float.intBitsToFloat(bits | (Float.floatToRawIntBits(sign) & Integer.MIN_VALUE));
  }

  /** As {@link Math#copySign}; the sign of NaN counts. */
  public static double copySign(double magnitude, double sign) {
    long bits = Double.doubleToRawLongBits(magnitude) & Long.MAX_VALUE;
    return Double.longBitsToDouble(bits | (Double.doubleToRawLongBits(sign) & Long.MIN_VALUE));
  }

  /** As {@link Math#toRadians}. */
  public static double toRadians(double degrees) {
    return degrees * 0.017453292519943295;
  }

  /** As {@link Math#toRadians}. */
  public static float toRadians(float degrees) {
    return (float) toRadians((double) degrees);
  }

  /** As {@link Math#toDegrees}. */
  public static double toDegrees(double radians) {
    return radians * 57.29577951308232;
  }

  /** As {@link Math#toDegrees}. */
  public static float toDegrees(float radians) {
    return (float) toDegrees((double) radians);
  }

  /** The bits of a number; those of NaN are alike. */
  public static int floatToIntBits(float x) {
    return isNaN(x) ? 0x7fc0_0000 : Float.floatToRawIntBits(x);
  }

  /** The bits of a number; those of NaN are alike. */
  public static long doubleToLongBits(double x) {
    return isNaN(x) ? 0x7ff8_0000_0000_0000L : Double.doubleToRawLongBits(x);
  }

  public static int rotateLeft(int x, int distance) {
    return (x << distance) | (x >>> -distance);
  }

  public static int rotateRight(int x, int distance) {
    return (x >>> distance) | (x << -distance);
  }

  public static long rotateLeft(long x, int distance) {
    return (x << distance) | (x >>> -distance);
  }

  public static long rotateRight(long x, int distance) {
    return (x >>> distance) | (x << -distance);
  }

  public static int numberOfTrailingZeros(int x) {
    return Integer.bitCount((x & -x) - 1);
  }

  public static int numberOfTrailingZeros(long x) {
    return Long.bitCount((x & -x) - 1);
  }

  public static int compare(int x, int y) {
    return x < y ? -1 : x == y ? 0 : 1;
  }

  public static int compare(long x, long y) {
    return x < y ? -1 : x == y ? 0 : 1;
  }

  public static int compare(short x, short y) {
    return x - y;
  }

  public static int compare(byte x, byte y) {
    return x - y;
  }

  public static int compare(float x, float y) {
    return compare((double) x, (double) y);
  }

  /** Orders -0 before 0, and NaN after all others. */
  public static int compare(double x, double y) {
    if (x < y) {
      return -1;
    }
    if (x > y) {
      return 1;
    }
    long a = isNaN(x) ? Long.MAX_VALUE : Double.doubleToRawLongBits(x);
    long b = isNaN(y) ? Long.MAX_VALUE : Double.doubleToRawLongBits(y);
    return compare(a, b);
  }

  public static int compareUnsigned(int x, int y) {
    return compare(x + Integer.MIN_VALUE, y + Integer.MIN_VALUE);
  }

  public static int compareUnsigned(long x, long y) {
    return compare(x + Long.MIN_VALUE, y + Long.MIN_VALUE);
  }

  public static int toUnsignedInt(byte x) {
    return x & 0xFF;
  }

  public static int toUnsignedInt(short x) {
    return x & 0xFFFF;
  }

  public static long toUnsignedLong(byte x) {
    return x & 0xFFL;
  }

  public static long toUnsignedLong(short x) {
    return x & 0xFFFFL;
  }

  public static long toUnsignedLong(int x) {
    return x & 0xFFFF_FFFFL;
  }
}
