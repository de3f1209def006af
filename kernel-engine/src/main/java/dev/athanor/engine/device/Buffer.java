package dev.athanor.engine.device;

/** Memory of a device. */
public interface Buffer extends AutoCloseable {

  /** The device address of its first byte, a multiple of 256. */
  long address();

  /** Its size. */
  long bytes();

  /**
   * Refuses a range that does not lie in the buffer.
   *
   * @throws IllegalArgumentException when it does not
   */
  default void requireRange(long offset, long bytes) {
    if (offset < 0 || bytes < 0 || offset > bytes() - bytes) {
      throw new IllegalArgumentException(
          "got %d bytes from byte %d on, the buffer has %d".formatted(bytes, offset, bytes()));
    }
  }

  /**
   * Gives the memory back once the work that was enqueued before has finished with it. Closing
   * twice does nothing; work that uses a closed buffer is refused.
   */
  @Override
  void close();
}
