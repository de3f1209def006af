package dev.athanor.ops.map;

import dev.athanor.ops.DType;

/** The reference implementation of casts, on the host. */
public final class Rounding {

  private Rounding() {}

  /**
   * Converts a number to a dtype. Floats round to nearest even, a NaN becomes integer 0, and a bool
   * is 1 except for 0.
   */
  public static double round(DType to, double value, Conversion conversion) {
    return switch (to) {
      case F64, F32, F16, BF16, E4M3, E5M2 -> toFloat(to, value, conversion.saturate());
      case BOOL -> value == 0 ? 0 : 1;
      default ->
          Double.isNaN(value)
              ? 0
              : Math.clamp(
                  conversion.fraction().apply(value), (double) least(to), (double) greatest(to));
    };
  }

  /** Converts an integer, which float64 may not represent exactly, to a dtype. */
  public static double round(DType to, long value, Conversion conversion) {
    if (to == DType.F64) {
      return value;
    }
    if (!to.isFloat()) {
      return to == DType.BOOL
          ? Math.abs(Long.signum(value))
          : Math.clamp(value, least(to), greatest(to));
    }
    // Rounds to odd: if float64 cannot represent the number, truncate it and set the last bit, so
    // that the result is as if rounded once.
    int lost = Math.max(0, 64 - 53 - Long.numberOfLeadingZeros(Math.abs(value)));
    long cut = Math.abs(value) >>> lost << lost;
    long odd = cut == Math.abs(value) ? cut : cut | (1L << lost);
    return round(to, value < 0 ? -unsigned(odd) : unsigned(odd), conversion);
  }

  private static double unsigned(long bits) {
    return bits < 0 ? (bits >>> 11) * 0x1p11 : bits;
  }

  private static double toFloat(DType to, double value, boolean saturate) {
    if (Double.isNaN(value)) {
      return value;
    }
    double rounded = nearest(to, value);
    if (Math.abs(rounded) <= to.greatest()) {
      return rounded;
    }
    double beyond =
        saturate ? to.greatest() : to == DType.E4M3 ? Double.NaN : Double.POSITIVE_INFINITY;
    return Math.copySign(beyond, value);
  }

  /** Rounds to nearest even as if the exponent were unbounded. */
  private static double nearest(DType to, double value) {
    if (to == DType.F64 || Double.isInfinite(value)) {
      return value;
    }
    if (to == DType.F32) {
      return (float) value;
    }
    double spacing = to.spacing(value);
    return Math.copySign(Math.rint(value / spacing) * spacing, value);
  }

  /** Returns the least number of an integer dtype. */
  public static long least(DType to) {
    return switch (to) {
      case I8 -> Byte.MIN_VALUE;
      case I16 -> Short.MIN_VALUE;
      case I32 -> Integer.MIN_VALUE;
      case I64 -> Long.MIN_VALUE;
      default -> 0;
    };
  }

  /** Returns the greatest number of an integer dtype. */
  public static long greatest(DType to) {
    return switch (to) {
      case I8 -> Byte.MAX_VALUE;
      case U8 -> 255;
      case I16 -> Short.MAX_VALUE;
      case I32 -> Integer.MAX_VALUE;
      case U32 -> 0xFFFF_FFFFL;
      default -> Long.MAX_VALUE;
    };
  }
}
