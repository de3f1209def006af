package dev.athanor.ops.quant;

import dev.athanor.ops.Blocks;
import dev.athanor.ops.DType;
import dev.athanor.ops.quant.BlockRule.Scale;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/** Quantizes blocks on the host, one number after the other. */
final class BlockReference {

  private static final ValueLayout.OfShort SHORT =
      ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final int SIZE = 32;

  private final BlockRule rule;
  private final float[] x;

  private float scale;
  private float minimum;
  private int exponent;

  /**
   * Quantizes a block.
   *
   * @param x 32 numbers
   */
  private BlockReference(BlockRule rule, float[] x) {
    this.rule = rule;
    this.x = x;
  }

  /** Returns the bytes of a block. */
  static byte[] encode(DType format, float[] x) {
    return new BlockReference(BlockRule.of(format), x).bytes();
  }

  /** Returns the numbers that a block of some numbers decodes to. */
  static double[] roundTrip(DType format, float[] x) {
    var block = MemorySegment.ofArray(encode(format, x));
    var values = new double[SIZE];
    for (int i = 0; i < SIZE; i++) {
      values[i] = format.read(block, i);
    }
    return values;
  }

  private byte[] bytes() {
    var quants = quants();
    var layout = BlockLayout.of(rule.format());
    var bytes = new byte[rule.format().bytes()];
    var block = MemorySegment.ofArray(bytes);
    if (rule.scale() == Scale.EXPONENT) {
      bytes[0] = (byte) exponent;
    } else {
      half(block, 0, scale);
    }
    if (rule.scale() == Scale.RANGE) {
      half(block, layout.minimum(), minimum);
    }
    for (int i = 0; i < SIZE; i++) {
      int quant = quants[i];
      if (rule.scale() == Scale.MAGNITUDE) {
        bytes[layout.quants() + i] = (byte) quant;
        continue;
      }
      bytes[layout.quants() + i % 16] |= (byte) ((quant & 15) << (i / 16 * 4));
      if (layout.fifths() > 0) {
        bytes[layout.fifths() + i / 8] |= (byte) (quant >> 4 << (i % 8));
      }
    }
    return bytes;
  }

  private static void half(MemorySegment block, int at, float value) {
    block.set(SHORT, at, Float.floatToFloat16(value));
  }

  /** Computes the scale and the minimum, and returns the quants. */
  private int[] quants() {
    float extreme = 0;
    float least = Float.POSITIVE_INFINITY;
    float most = Float.NEGATIVE_INFINITY;
    for (float value : x) {
      if (Float.isFinite(value)) {
        extreme = Math.abs(value) > Math.abs(extreme) ? value : extreme;
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
    }
    boolean isEmpty = least > most;
    minimum = isEmpty ? 0 : least + 0f;
    switch (rule.scale()) {
      case MAGNITUDE -> scale = Math.abs(extreme) / rule.divisor();
      case EXTREME -> scale = extreme / rule.divisor();
      case RANGE -> scale = (isEmpty ? 0 : most + 0f - minimum) / rule.divisor();
      case FITTED ->
          scale = Math.abs(extreme) < BlockRule.LEAST_FITTED ? 0 : extreme / rule.divisor();
      case EXPONENT -> {
        exponent = Math.max(Math.getExponent(extreme) - 2 + 127, 0);
        // the entries of the table are doubled
        scale = Math.scalb(1f, exponent - 128);
      }
    }
    float inverse = scale == 0 ? 0 : 1 / scale;
    var quants = new int[SIZE];
    for (int i = 0; i < SIZE; i++) {
      float value = Float.isNaN(x[i]) ? 0 : x[i];
      quants[i] =
          switch (rule.scale()) {
            case MAGNITUDE -> signed(value * inverse);
            case EXTREME -> unsigned(value * inverse + rule.bias());
            case RANGE -> unsigned((value - minimum) * inverse + rule.bias());
            case FITTED -> exceeded(value * inverse, 1);
            case EXPONENT -> {
              int magnitude = exceeded(Math.abs(value), scale);
              yield value < 0 && magnitude > 0 ? magnitude + 8 : magnitude;
            }
          };
    }
    if (rule.scale() == Scale.FITTED && scale != 0) {
      scale = fitted(quants);
    }
    return quants;
  }

  /** Rounds to nearest, ties away from zero. */
  private int signed(float scaled) {
    long nearest = (long) (Math.abs((double) scaled) + 0.5);
    int most = (int) Math.min(nearest, rule.greatest());
    return scaled < 0 ? -most : most;
  }

  private int unsigned(float scaled) {
    return Math.clamp((int) scaled, 0, rule.greatest());
  }

  private int exceeded(float value, float unit) {
    int count = 0;
    for (float threshold : rule.thresholds()) {
      count += value > threshold * unit ? 1 : 0;
    }
    return count;
  }

  private float fitted(int[] quants) {
    float products = 0;
    float squares = 0;
    for (int i = 0; i < SIZE; i++) {
      float value = Float.isFinite(x[i]) ? x[i] : 0;
      float entry = Blocks.table(rule.format()).get(quants[i]);
      float weighted = value * value * entry;
      products += weighted * value;
      squares += weighted * entry;
    }
    return products / squares;
  }
}
