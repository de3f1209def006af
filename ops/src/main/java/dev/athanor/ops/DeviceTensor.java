package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;

/**
 * A tensor in the memory of a device: dense, row-major, within a buffer that may be larger.
 *
 * @param offset the byte of the buffer that it begins at
 */
public record DeviceTensor(TensorType type, Buffer buffer, long offset) {

  /** What the widest accesses of kernels are aligned to. */
  private static final int ALIGNMENT = 16;

  /**
   * Checks where it lies.
   *
   * @throws IllegalArgumentException when it does not lie in the buffer, or begins where kernels
   *     cannot read it
   */
  public DeviceTensor {
    if (offset < 0 || offset % ALIGNMENT != 0) {
      throw new IllegalArgumentException(
          "a tensor begins at a multiple of %d bytes, not at %d".formatted(ALIGNMENT, offset));
    }
    if (type.bytes() > buffer.bytes() - offset) {
      throw new IllegalArgumentException(
          "%s takes %d bytes, from byte %d on the buffer has %d"
              .formatted(type, type.bytes(), offset, buffer.bytes() - offset));
    }
  }

  /** A tensor from the first byte of a buffer on. */
  public DeviceTensor(TensorType type, Buffer buffer) {
    this(type, buffer, 0);
  }

  /** Whether a byte is of both. */
  boolean overlaps(DeviceTensor other) {
    return start() < other.end() && other.start() < end();
  }

  private long start() {
    return buffer.address() + offset;
  }

  private long end() {
    return start() + type.bytes();
  }
}
