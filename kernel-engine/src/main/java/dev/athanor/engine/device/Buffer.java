package dev.athanor.engine.device;

/** Memory of a device. */
public interface Buffer extends AutoCloseable {

  /** The device address of its first byte, a multiple of 256. */
  long address();

  /** Its size. */
  long bytes();

  /**
   * Gives the memory back once the work that was enqueued before has finished with it. Closing
   * twice does nothing; work that uses a closed buffer is refused.
   */
  @Override
  void close();
}
