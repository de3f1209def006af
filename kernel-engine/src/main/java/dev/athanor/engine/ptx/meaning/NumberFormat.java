package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Type;

/**
 * The formats of tensor-core factors and their scale factors; all their values are exact in f32.
 */
public enum NumberFormat {
  F16(16, -14),
  BF16(16, -126),
  /** The upper 19 bits of an f32; the others are ignored. */
  TF32(32, -126),
  E4M3(8, -6, Type.E4M3, 0),
  E5M2(8, -14, Type.E5M2, 0),
  /** In the low bits of a byte. */
  E3M2(8, -2, Type.E3M2, 0),
  E2M3(8, 0, Type.E2M3, 0),
  /** In the central bits of a byte, as {@code kind::f8f6f4} and {@code kind::mxf8f6f4} require. */
  E2M1(8, 0, Type.E2M1, 2),
  /** Without padding. */
  PACKED_E2M1(4, 0, Type.E2M1, 0),
  UE8M0(8, -127, Type.UE8M0, 0),
  UE4M3(8, -6, Type.UE4M3, 0);

  private static final int TF32_MASK = -1 << 13;

  private final int bits;
  private final int minExponent;

  /** The values of all encodings; empty for formats of more than 8 bits. */
  @SuppressWarnings("ImmutableEnumChecker") // nothing writes it after the constructor
  private final float[] values;

  NumberFormat(int bits, int smallestExponent) {
    this.bits = bits;
    this.minExponent = smallestExponent;
    this.values = new float[0];
  }

  /**
   * Creates a format of at most 8 bits.
   *
   * @param padding number of low bits that are ignored
   */
  NumberFormat(int bits, int smallestExponent, Type type, int padding) {
    this.bits = bits;
    this.minExponent = smallestExponent;
    this.values = new float[1 << bits];
    for (int i = 0; i < values.length; i++) {
      values[i] = SmallFloat.decode(i >>> padding, type);
    }
  }

  /**
   * Returns the format of a type; 4-bit numbers are padded to bytes.
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
      case E3M2 -> E3M2;
      case E2M3 -> E2M3;
      case E2M1 -> E2M1;
      case UE8M0 -> UE8M0;
      case UE4M3 -> UE4M3;
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
      default -> values[word & (values.length - 1)];
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
      case PACKED_E2M1 -> {
        for (int i = 0; i < words.length; i++) {
          for (int j = 0; j < 8; j++) {
            values[indices[at + 8 * i + j]] = this.values[(words[i] >>> (4 * j)) & 0xF];
          }
        }
      }
      default -> {
        var bytes = this.values;
        for (int i = 0; i < words.length; i++) {
          for (int j = 0; j < 4; j++) {
            values[indices[at + 4 * i + j]] = bytes[(words[i] >>> (8 * j)) & 0xFF];
          }
        }
      }
    }
  }
}
