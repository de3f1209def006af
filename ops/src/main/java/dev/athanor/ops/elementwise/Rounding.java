package dev.athanor.ops.elementwise;

import dev.athanor.ops.DType;

/** What a cast gives, on the host: what kernels are checked against. */
final class Rounding {

  private Rounding() {}

  /**
   * The number of a dtype nearest to {@code value}, of two the even one. What is beyond the
   * greatest number becomes an infinity, or the greatest number where the dtype has no infinity. To
   * an integer a NaN becomes 0; to a bool all but 0 becomes 1.
   */
  static double round(DType to, double value) {
    return switch (to) {
      case F64 -> value;
      case F32 -> (float) value;
      case BOOL -> value == 0 ? 0 : 1;
      case F16, BF16, E4M3, E5M2 -> toSmall(to, value);
      default ->
          Double.isNaN(value)
              ? 0
              : Math.clamp(Math.rint(value), (double) least(to), (double) greatest(to));
    };
  }

  /** The same for integers, of which float64 does not have all. */
  static double round(DType to, long value) {
    if (to == DType.F64) {
      return value;
    }
    if (!to.isFloat()) {
      return to == DType.BOOL
          ? Math.abs(Long.signum(value))
          : Math.clamp(value, least(to), greatest(to));
    }
    // Where float64 lacks the number its last bits are cut and the lowest that is left is set, so
    // that the rounding that follows is the only one.
    int lost = Math.max(0, 64 - 53 - Long.numberOfLeadingZeros(Math.abs(value)));
    long cut = Math.abs(value) >>> lost << lost;
    long odd = cut == Math.abs(value) ? cut : cut | (1L << lost);
    return round(to, value < 0 ? -unsigned(odd) : unsigned(odd));
  }

  private static double unsigned(long bits) {
    return bits < 0 ? (bits >>> 11) * 0x1p11 : bits;
  }

  private static double toSmall(DType to, double value) {
    if (Double.isNaN(value)) {
      return value;
    }
    if (Math.abs(value) >= to.overflow()) {
      return Math.copySign(to == DType.E4M3 ? to.greatest() : Double.POSITIVE_INFINITY, value);
    }
    double spacing = to.spacing(value);
    return Math.copySign(Math.rint(value / spacing) * spacing, value);
  }

  /** The least number of an integer dtype. */
  static long least(DType to) {
    return switch (to) {
      case I8 -> Byte.MIN_VALUE;
      case I16 -> Short.MIN_VALUE;
      case I32 -> Integer.MIN_VALUE;
      case I64 -> Long.MIN_VALUE;
      default -> 0;
    };
  }

  /** The greatest number of an integer dtype. */
  static long greatest(DType to) {
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
