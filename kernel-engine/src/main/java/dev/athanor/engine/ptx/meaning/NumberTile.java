package dev.athanor.engine.ptx.meaning;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A row-major matrix of decoded numbers, with the exponents that a tensor core compares. Subnormals
 * are not normalized: they have the exponent of the format's smallest normal number. Products with
 * zero are not compared. Blocks of elements may have scale factors.
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

  /** The scale factors; null = none. */
  private final @Nullable NumberTile scales;

  /** For each element the index of its scale factor. */
  private final int[] scaleOf;

  /**
   * Creates a matrix of zeros.
   *
   * @param smallestExponent exponent of the format's smallest normal number, such as -14 for f16
   */
  public NumberTile(int rows, int columns, int smallestExponent) {
    this.values = new float[rows * columns];
    this.exponents = new int[rows * columns];
    this.exponentOfField = exponentOfField(smallestExponent);
    this.scales = null;
    this.scaleOf = new int[0];
  }

  private NumberTile(NumberTile unscaled, NumberTile scales, int[] scaleOf) {
    this.values = unscaled.values;
    this.exponents = unscaled.exponents;
    this.exponentOfField = unscaled.exponentOfField;
    this.scales = scales;
    this.scaleOf = scaleOf;
  }

  /**
   * Returns the same matrix with scale factors.
   *
   * @param scaleOf for each element the index of its scale factor
   */
  NumberTile scaledBy(NumberTile scales, int[] scaleOf) {
    return new NumberTile(this, scales, scaleOf);
  }

  /**
   * Returns the exponent for each value of the exponent field of an f32, for a format contained in
   * f32. Such numbers are normal in f32 unless the format has the exponents of f32.
   */
  static int[] exponentOfField(int smallestExponent) {
    var all = new int[256];
    Arrays.setAll(all, field -> Math.max(field - 127, smallestExponent));
    all[0] = Math.min(SMALLEST_EXPONENT, smallestExponent);
    all[255] = SPECIAL;
    return all;
  }

  /** Returns the elements without scale factors, row-major and mutable. */
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
    if (scales != null) {
      var others = scales.exponents();
      for (int i = 0; i < exponents.length; i++) {
        exponents[i] += others[scaleOf[i]];
      }
    }
    return exponents;
  }

  /** Copies the current elements, with their scale factors. */
  void widen(double[] to) {
    for (int i = 0; i < to.length; i++) {
      to[i] = values[i];
    }
    if (scales != null) {
      for (int i = 0; i < to.length; i++) {
        to[i] *= scales.values[scaleOf[i]];
      }
    }
  }
}
