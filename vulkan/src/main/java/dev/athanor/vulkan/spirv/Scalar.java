package dev.athanor.vulkan.spirv;

/** The types of values. Narrower integers are extended to 32 bits, and f16 is widened to f32. */
enum Scalar {
  BOOL(1),
  U32(32),
  U64(64),
  F16(16),
  F32(32),
  F64(64);

  private final int width;

  Scalar(int width) {
    this.width = width;
  }

  int width() {
    return width;
  }

  boolean isFloat() {
    return this == F16 || this == F32 || this == F64;
  }

  /** Returns the integer type of the same width. */
  Scalar bits() {
    return this == F32 ? U32 : this == F64 ? U64 : this;
  }
}
