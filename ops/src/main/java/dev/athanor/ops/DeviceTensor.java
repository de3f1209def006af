package dev.athanor.ops;

import dev.athanor.engine.device.Buffer;

/**
 * A dense, row-major tensor in device memory, within a buffer that may be larger.
 *
 * @param offset of the first byte in the buffer
 */
public record DeviceTensor(TensorType type, Buffer buffer, long offset) {

  /** The alignment in bytes of the widest kernel accesses. */
  private static final int ALIGNMENT = 16;

  /**
   * Checks the offset and the bounds of the buffer.
   *
   * @throws IllegalArgumentException if the tensor exceeds the buffer or its offset is not aligned
   */
  public DeviceTensor {
    if (offset < 0 || offset % ALIGNMENT != 0) {
      throw new IllegalArgumentException(
          "a tensor must start at a multiple of %d bytes, got offset %d"
              .formatted(ALIGNMENT, offset));
    }
    if (type.bytes() > buffer.bytes() - offset) {
      throw new IllegalArgumentException(
          "%s takes %d bytes, from byte %d on the buffer has %d"
              .formatted(type, type.bytes(), offset, buffer.bytes() - offset));
    }
  }

  /** Creates a tensor at the start of a buffer. */
  public DeviceTensor(TensorType type, Buffer buffer) {
    this(type, buffer, 0);
  }

  /** Returns whether the tensors share a byte. */
  boolean overlaps(DeviceTensor other) {
    return !type.isEmpty()
        && !other.type.isEmpty()
        && start() < other.end()
        && other.start() < end();
  }

  private long start() {
    return buffer.address() + offset;
  }

  private long end() {
    return start() + type.bytes();
  }
}
