package dev.athanor.engine.ptx.meaning;

import java.util.Arrays;

/**
 * A row-major matrix of decoded numbers, with the exponents that a tensor core compares. Subnormals
 * are not normalized: they have the exponent of the format's smallest normal number. Products with
 * zero are not compared.
 */
public final class NumberTile {

  /** Exponent of infinity and NaN; exceeds every sum of finite exponents. */
  static final int SPECIAL = 1 << 16;

  /** Exponent of zero; the sum with any finite exponent is less than every other such sum. */
  private static final int ZERO = -(1 << 12);

  private static final int SMALLEST_EXPONENT = -126;

  private final float[] values;
  private final int[] exponents;
  private final int[] exponentOfField;

  /**
   * Creates a matrix of zeros.
   *
   * @param smallestExponent exponent of the format's smallest normal number, such as -14 for f16
   */
  public NumberTile(int rows, int columns, int smallestExponent) {
    this.values = new float[rows * columns];
    this.exponents = new int[rows * columns];
    this.exponentOfField = exponentOfField(smallestExponent);
  }

  /**
   * Returns the exponent for each value of the exponent field of an f32, for a format contained in
   * f32. Such numbers are normal in f32 unless the format has the exponents of f32.
   */
  static int[] exponentOfField(int smallestExponent) {
    var all = new int[256];
    Arrays.setAll(all, field -> Math.max(field - 127, smallestExponent));
    all[0] = SMALLEST_EXPONENT;
    all[255] = SPECIAL;
    return all;
  }

  /** Returns the elements, row-major and mutable. */
  public float[] values() {
    return values;
  }

  /** Computes the exponents of the current elements. */
  int[] exponents() {
    for (int i = 0; i < exponents.length; i++) {
      exponents[i] =
          values[i] == 0
              ? ZERO
              : exponentOfField[(Float.floatToRawIntBits(values[i]) >>> 23) & 0xFF];
    }
    return exponents;
  }
}
