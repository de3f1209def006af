package dev.athanor.ops;

/** Conversions of 8-bit floating-point numbers (OCP 8-bit floating point specification 1.0). */
final class SmallFloats {

  private static final int SIGN = 0x80;
  private static final int NAN = 0x7F;

  private SmallFloats() {}

  /** Returns the value of an e4m3. */
  static float e4m3(byte bits) {
    int magnitude = bits & 0x7F;
    if (magnitude == NAN) {
      return Float.NaN;
    }
    int exponent = magnitude >> 3;
    int fraction = magnitude & 7;
    float value = exponent == 0 ? fraction * 0x1p-9f : Math.scalb(1 + fraction / 8f, exponent - 7);
    return bits < 0 ? -value : value;
  }

  /**
   * Returns the bits of a number, rounded to nearest even; NaN is encoded canonically.
   *
   * @param value at most the greatest number of the type in magnitude; infinity only for e5m2
   */
  static byte encode(DType dtype, double value) {
    int fractionBits = dtype == DType.E4M3 ? 3 : 2;
    int sign = Double.doubleToRawLongBits(value) < 0 ? SIGN : 0;
    if (Double.isNaN(value)) {
      return NAN;
    }
    if (Double.isInfinite(value)) {
      return (byte) (sign | 0x7C);
    }
    // the number as a multiple of the spacing in its binade; encodings count up from there
    double spacing = dtype.spacing(value);
    long steps = (long) Math.rint(Math.abs(value) / spacing);
    int binade = Math.getExponent(spacing) - Math.getExponent(dtype.spacing(0));
    return (byte) (sign | (int) (steps + ((long) binade << fractionBits)));
  }
}
