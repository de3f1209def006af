package dev.athanor.engine.device;

/** Memory of a device. */
public interface Buffer extends AutoCloseable {

  /** Returns the device address of the first byte, a multiple of 256. */
  long address();

  /** Returns the size in bytes. */
  long bytes();

  /**
   * Checks that a range lies in the buffer.
   *
   * @throws IllegalArgumentException if it does not
   */
  default void requireRange(long offset, long bytes) {
    if (offset < 0 || bytes < 0 || offset > bytes() - bytes) {
      throw new IllegalArgumentException(
          "got %d bytes from byte %d on, the buffer has %d".formatted(bytes, offset, bytes()));
    }
  }

  /**
   * Frees the memory after the work enqueued before. Closing twice has no effect; work that uses a
   * closed buffer is rejected.
   */
  @Override
  void close();
}
