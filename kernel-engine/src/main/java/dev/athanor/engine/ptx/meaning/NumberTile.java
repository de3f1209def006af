package dev.athanor.engine.ptx.meaning;

import java.util.Arrays;

/**
 * A matrix of decoded numbers, row-major, with the exponents that a tensor core compares.
 * Significands are not normalised there: a subnormal has the exponent of the smallest normal number
 * of its format, a zero that of the smallest f32.
 */
public final class NumberTile {

  /** The exponent of infinities and NaN is this, so great that no sum with it is a finite one's. */
  static final int SPECIAL = 1 << 16;

  private static final int ZERO_EXPONENT = -126;

  private final float[] values;
  private final int[] exponents;
  private final int[] exponentOfField;

  /**
   * Makes a matrix of zeros.
   *
   * @param smallestExponent that of the smallest normal number of the format, -14 for f16
   */
  public NumberTile(int rows, int columns, int smallestExponent) {
    this.values = new float[rows * columns];
    this.exponents = new int[rows * columns];
    this.exponentOfField = exponentOfField(smallestExponent);
  }

  /**
   * What the exponent field of an f32 says of a number of a format whose numbers are f32 too. All
   * but zeros are normal there, unless its exponents are those of f32.
   */
  static int[] exponentOfField(int smallestExponent) {
    var all = new int[256];
    Arrays.setAll(all, field -> Math.max(field - 127, smallestExponent));
    all[0] = ZERO_EXPONENT;
    all[255] = SPECIAL;
    return all;
  }

  /** The elements, row-major, for reading and writing. */
  public float[] values() {
    return values;
  }

  /** The exponents of the elements as they are now. */
  int[] exponents() {
    for (int i = 0; i < exponents.length; i++) {
      exponents[i] = exponentOfField[(Float.floatToRawIntBits(values[i]) >>> 23) & 0xFF];
    }
    return exponents;
  }
}
