package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Type;

/** The formats of tensor-core factors; all their values are exact in f32. */
public enum NumberFormat {
  F16(16, -14),
  BF16(16, -126),
  /** The upper 19 bits of an f32; the others are ignored. */
  TF32(32, -126),
  E4M3(8, -6),
  E5M2(8, -14);

  private static final int TF32_MASK = -1 << 13;
  private static final float[] E4M3_VALUES = values(Type.E4M3);
  private static final float[] E5M2_VALUES = values(Type.E5M2);

  private final int bits;
  private final int minExponent;

  NumberFormat(int bits, int smallestExponent) {
    this.bits = bits;
    this.minExponent = smallestExponent;
  }

  /**
   * Returns the format of a type.
   *
   * @throws IllegalArgumentException if tensor cores do not support the type
   */
  public static NumberFormat of(Type type) {
    return switch (type) {
      case F16 -> F16;
      case BF16 -> BF16;
      case TF32 -> TF32;
      case E4M3 -> E4M3;
      case E5M2 -> E5M2;
      default ->
          throw new IllegalArgumentException(
              "." + type.word() + " is not a floating-point type of a matrix");
    };
  }

  /** Returns the exponent of the smallest normal number. */
  public int minExponent() {
    return minExponent;
  }

  boolean is8Bit() {
    return bits == 8;
  }

  /** Decodes the low bits of a word. */
  public float value(int word) {
    return switch (this) {
      case F16 -> Float.float16ToFloat((short) word);
      case BF16 -> Float.intBitsToFloat(word << 16);
      case TF32 -> Float.intBitsToFloat(word & TF32_MASK);
      case E4M3 -> E4M3_VALUES[word & 0xFF];
      case E5M2 -> E5M2_VALUES[word & 0xFF];
    };
  }

  /**
   * Decodes a register of several lanes.
   *
   * @param words the register's word for each lane
   * @param indices position in {@code values} of each element, starting at index {@code at}
   */
  void unpack(int[] words, int[] indices, int at, float[] values) {
    switch (this) { // a separate loop per format, so that C2 optimizes each
      case F16 -> {
        for (int i = 0; i < words.length; i++) {
          values[indices[at + 2 * i]] = Float.float16ToFloat((short) words[i]);
          values[indices[at + 2 * i + 1]] = Float.float16ToFloat((short) (words[i] >>> 16));
        }
      }
      case BF16 -> {
        for (int i = 0; i < words.length; i++) {
          values[indices[at + 2 * i]] = Float.intBitsToFloat(words[i] << 16);
          values[indices[at + 2 * i + 1]] = Float.intBitsToFloat(words[i] & 0xFFFF_0000);
        }
      }
      case TF32 -> {
        for (int i = 0; i < words.length; i++) {
          values[indices[at + i]] = Float.intBitsToFloat(words[i] & TF32_MASK);
        }
      }
      case E4M3, E5M2 -> {
        var bytes = this == E4M3 ? E4M3_VALUES : E5M2_VALUES;
        for (int i = 0; i < words.length; i++) {
          for (int j = 0; j < 4; j++) {
            values[indices[at + 4 * i + j]] = bytes[(words[i] >>> (8 * j)) & 0xFF];
          }
        }
      }
    }
  }

  private static float[] values(Type type) {
    var all = new float[256];
    for (int i = 0; i < all.length; i++) {
      all[i] = SmallFloat.decode(i, type);
    }
    return all;
  }
}
