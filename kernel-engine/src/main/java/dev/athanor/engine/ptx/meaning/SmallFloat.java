package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifier.Rounding;
import dev.athanor.engine.ptx.Type;

/** Floating-point formats of 4 to 16 bits (PTX ISA 5.2.2, 5.2.3). */
public enum SmallFloat {
  F16(10, -14, 0x7BFF, 0x7C00, 0x7FFF),
  BF16(7, -126, 0x7F7F, 0x7F80, 0x7FFF),
  /** Has no infinity: overflow becomes NaN unless it saturates to the largest number. */
  E4M3(3, -6, 0x7E, 0x7F, 0x7F),
  E5M2(2, -14, 0x7B, 0x7C, 0x7F),
  /** Like the following formats, has neither infinity nor NaN: both become the largest number. */
  E3M2(2, -2, 0x1F, 0x1F, 0x1F),
  E2M3(3, 0, 0x1F, 0x1F, 0x1F),
  E2M1(1, 0, 0x7, 0x7, 0x7);

  private final int fractionBits;
  private final int minExponent;
  private final int maximum;
  private final int infinity;
  private final int nan;

  SmallFloat(int fractionBits, int smallestExponent, int greatest, int infinity, int nan) {
    this.fractionBits = fractionBits;
    this.minExponent = smallestExponent;
    this.maximum = greatest;
    this.infinity = infinity;
    this.nan = nan;
  }

  /** Returns whether values of a type are passed as decoded numbers, not as bits. */
  static boolean isSmall(Type type) {
    return switch (type) {
      case F16, BF16, E4M3, E5M2 -> true;
      default -> false;
    };
  }

  static float decode(int bits, Type type) {
    return switch (type) {
      case F16 -> Float.float16ToFloat((short) bits);
      case BF16 -> Float.intBitsToFloat(bits << 16);
      case E5M2 -> Float.float16ToFloat((short) (bits << 8));
      case E4M3 -> E4M3.decode(bits & 0xFF);
      case E3M2 -> E3M2.decode(bits & 0x3F);
      case E2M3 -> E2M3.decode(bits & 0x3F);
      case E2M1 -> E2M1.decode(bits & 0xF);
      case UE4M3 -> E4M3.decode(bits & 0x7F);
      case UE8M0 -> (bits & 0xFF) == 0xFF ? Float.NaN : Math.scalb(1f, (bits & 0xFF) - 127);
      default -> throw unknown(type);
    };
  }

  /**
   * Encodes a number, rounded in the given mode; NaN becomes canonical.
   *
   * @param finite whether overflow becomes the largest finite number
   */
  public static int encode(double value, Type type, Rounding rounding, boolean finite) {
    return of(type).encode(value, rounding, finite);
  }

  /** Encodes like {@link #encode(double, Type, Rounding, boolean)}, rounded to nearest even. */
  public static int encode(float value, Type type) {
    return switch (type) {
      case F16 -> Float.isNaN(value) ? F16.nan : Float.floatToFloat16(value) & 0xFFFF;
      case BF16 -> {
        int bits = Float.floatToRawIntBits(value);
        yield Float.isNaN(value) ? BF16.nan : (bits + 0x7FFF + ((bits >>> 16) & 1)) >>> 16;
      }
      default -> of(type).encode(value, Rounding.RN, false);
    };
  }

  private static SmallFloat of(Type type) {
    return switch (type) {
      case F16 -> F16;
      case BF16 -> BF16;
      case E4M3 -> E4M3;
      case E5M2 -> E5M2;
      case E3M2 -> E3M2;
      case E2M3 -> E2M3;
      case E2M1 -> E2M1;
      default -> throw unknown(type);
    };
  }

  private static IllegalArgumentException unknown(Type type) {
    return new IllegalArgumentException("." + type.word() + " is not a small floating-point type");
  }

  private float decode(int bits) {
    int signBit = signBit();
    int magnitude = bits & (signBit - 1);
    if (magnitude > maximum) {
      return Float.NaN;
    }
    int exponent = Math.max(magnitude >> fractionBits, 1);
    int digits =
        (magnitude & ((1 << fractionBits) - 1))
            + (magnitude >> fractionBits == 0 ? 0 : 1 << fractionBits);
    float value = Math.scalb((float) digits, minExponent + exponent - 1 - fractionBits);
    return (bits & signBit) == 0 ? value : -value;
  }

  private int encode(double value, Rounding rounding, boolean finite) {
    if (Double.isNaN(value)) {
      return nan;
    }
    int sign = Math.copySign(1, value) < 0 ? signBit() : 0;
    double size = Math.abs(value);
    int magnitude;
    if (Double.isInfinite(size)) {
      magnitude = finite ? maximum : infinity;
    } else {
      int exponent = Math.max(Math.getExponent(size), minExponent);
      double digits = rounded(Math.scalb(size, fractionBits - exponent), rounding, value < 0);
      long encoded = ((long) (exponent - minExponent) << fractionBits) + (long) digits;
      boolean inward =
          rounding == Rounding.RZ || rounding == (value < 0 ? Rounding.RP : Rounding.RM);
      magnitude = encoded > maximum ? finite || inward ? maximum : infinity : (int) encoded;
    }
    return sign | magnitude;
  }

  private static double rounded(double size, Rounding rounding, boolean negative) {
    return switch (rounding) {
      case RZ -> Math.floor(size);
      case RM -> negative ? Math.ceil(size) : Math.floor(size);
      case RP -> negative ? Math.floor(size) : Math.ceil(size);
      case RNA -> Math.floor(size + 0.5);
      default -> Math.rint(size);
    };
  }

  private int signBit() {
    return Integer.highestOneBit(nan) << 1;
  }
}
