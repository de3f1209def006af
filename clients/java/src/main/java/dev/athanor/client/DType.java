package dev.athanor.client;

import java.util.Locale;
import java.util.Optional;

/** The type of a tensor's elements. Types from {@link #Q4_0} on are stored in blocks. */
public enum DType implements Choice {
  F64("F64", 1, 8),
  F32("F32", 1, 4),
  F16("F16", 1, 2),
  BF16("BF16", 1, 2),
  /** Four exponent bits and three mantissa bits. */
  E4M3("F8_E4M3", 1, 1),
  /** Five exponent bits and two mantissa bits. */
  E5M2("F8_E5M2", 1, 1),
  I64("I64", 1, 8),
  I32("I32", 1, 4),
  I16("I16", 1, 2),
  I8("I8", 1, 1),
  U8("U8", 1, 1),
  U32("U32", 1, 4),
  /** One byte, 0 or 1. */
  BOOL("BOOL", 1, 1),
  Q4_0("", 32, 18),
  Q4_1("", 32, 20),
  Q5_0("", 32, 22),
  Q8_0("", 32, 34),
  Q4_K("", 256, 144),
  Q5_K("", 256, 176),
  Q6_K("", 256, 210),
  IQ4_NL("", 32, 18),
  IQ4_XS("", 256, 136),
  MXFP4("", 32, 17),
  NF4("", 64, 36);

  private final String safetensors;
  private final int blockElements;
  private final int blockBytes;

  DType(String safetensors, int blockElements, int blockBytes) {
    this.safetensors = safetensors;
    this.blockElements = blockElements;
    this.blockBytes = blockBytes;
  }

  /** Returns the service's name of the dtype, such as {@code f32}. */
  @Override
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Returns the number of elements per block along the last dimension; 1 if not blocked. */
  public int blockElements() {
    return blockElements;
  }

  /** Returns the size in bytes of an element, or of a block. */
  public int blockBytes() {
    return blockBytes;
  }

  /** Returns the dtype in safetensors, which has none for blocks. */
  Optional<String> safetensors() {
    return safetensors.isEmpty() ? Optional.empty() : Optional.of(safetensors);
  }

  /**
   * Returns the dtype with the given name.
   *
   * @param text the service's name, such as {@code f32}
   * @throws IllegalArgumentException if the name is unknown
   */
  public static DType of(String text) {
    for (var dtype : values()) {
      if (dtype.text().equals(text)) {
        return dtype;
      }
    }
    throw new IllegalArgumentException("Unknown dtype `%s`.".formatted(text));
  }

  static DType ofSafetensors(String name) {
    for (var dtype : values()) {
      if (dtype.safetensors.equals(name)) {
        return dtype;
      }
    }
    throw new IllegalArgumentException("Unknown safetensors dtype `%s`.".formatted(name));
  }
}
