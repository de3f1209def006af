package dev.athanor.ops.quant;

import dev.athanor.ops.Blocks;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.List;

/**
 * How GGML quantizes 32 numbers to a block: the reference quantizers {@code quantize_row_*_ref} of
 * ggml-quants.c (github.com/ggml-org/llama.cpp), in f32. GGML leaves these cases undefined or to
 * the compiler:
 *
 * <ul>
 *   <li>NaN and infinities do not affect a scale. NaN is quantized as 0, and infinities saturate.
 *   <li>A minimum of -0 becomes 0.
 *   <li>The exponent of MXFP4 is that of the largest magnitude. GGML rounds the logarithm to f32,
 *       which may exceed the exponent by 1 just below a power of two. Scales below 2^-127 become
 *       2^-127.
 *   <li>Blocks of IQ4_NL below 1e-15 have the quants of 0.
 * </ul>
 *
 * @param divisor what the extent of a block is divided by for the scale; unused by {@link
 *     Scale#EXPONENT}
 * @param thresholds in ascending order: a quant is the number of thresholds that the scaled number
 *     exceeds. Empty if scaled numbers are rounded instead
 */
record BlockRule(DType format, Scale scale, float divisor, List<Float> thresholds) {

  static final List<BlockRule> ALL =
      List.of(
          new BlockRule(DType.Q8_0, Scale.MAGNITUDE, 127, List.of()),
          new BlockRule(DType.Q4_0, Scale.EXTREME, -8, List.of()),
          new BlockRule(DType.Q4_1, Scale.RANGE, 15, List.of()),
          new BlockRule(DType.Q5_0, Scale.EXTREME, -16, List.of()),
          new BlockRule(DType.IQ4_NL, Scale.FITTED, -127, betweenEntries(DType.IQ4_NL)),
          new BlockRule(DType.MXFP4, Scale.EXPONENT, 1, betweenMagnitudes(DType.MXFP4)));

  /** The least magnitude of a block whose scale is fitted. */
  static final float LEAST_FITTED = 1e-15f;

  /** The scale of a block. */
  enum Scale {
    /** From the largest magnitude; the quants are signed bytes. */
    MAGNITUDE,
    /**
     * From the number of the largest magnitude, the first if there are several, with its sign; its
     * quant is the least.
     */
    EXTREME,
    /** From the difference of the largest and the smallest number, which is the minimum. */
    RANGE,
    /**
     * As {@link #EXTREME} for the quants; then the scale that minimizes the squared error weighted
     * by the squares of the numbers.
     */
    FITTED,
    /** A power of two, for which the largest magnitude is from 4 to 8. */
    EXPONENT
  }

  static BlockRule of(DType format) {
    return ALL.stream().filter(rule -> rule.format == format).findFirst().orElseThrow();
  }

  /** Returns the greatest quant; the least is 0, or the negated greatest of signed quants. */
  int greatest() {
    return switch (scale) {
      case MAGNITUDE, RANGE -> (int) divisor;
      case EXTREME -> (int) (-2 * divisor) - 1;
      case FITTED, EXPONENT -> thresholds.size();
    };
  }

  /**
   * Returns what is added to a scaled number before it is truncated: one half, and the quant of 0.
   */
  float bias() {
    return scale == Scale.EXTREME ? 0.5f - divisor : 0.5f;
  }

  /**
   * Returns the thresholds between neighboring entries of a table. An entry is chosen if the number
   * is not closer to the one below it; both distances are rounded to f32.
   */
  private static List<Float> betweenEntries(DType format) {
    var table = Blocks.table(format);
    var thresholds = new ArrayList<Float>();
    for (int i = 1; i < table.size(); i++) {
      float below = table.get(i - 1);
      float above = table.get(i);
      float threshold = (below + above) / 2;
      while (threshold - below < above - threshold) {
        threshold = Math.nextUp(threshold);
      }
      while (!(threshold - below < above - threshold)) {
        threshold = Math.nextDown(threshold);
      }
      thresholds.add(threshold);
    }
    return List.copyOf(thresholds);
  }

  /** Returns the middles between the nonnegative entries of a table; ties go to the smaller one. */
  private static List<Float> betweenMagnitudes(DType format) {
    var table = Blocks.table(format);
    var thresholds = new ArrayList<Float>();
    for (int i = 1; i < 8; i++) {
      thresholds.add((table.get(i - 1) + table.get(i)) / 2f);
    }
    return List.copyOf(thresholds);
  }
}
