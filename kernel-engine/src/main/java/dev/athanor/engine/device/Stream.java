package dev.athanor.engine.device;

import java.lang.foreign.MemorySegment;

/**
 * A queue of work that runs in the order in which it was enqueued. Methods return as soon as the
 * work is enqueued. Faults are thrown as {@link DeviceException}s, at the latest by {@link
 * #synchronize()}.
 *
 * <p>All methods that take a buffer throw {@link IllegalArgumentException} if the range exceeds it
 * and {@link IllegalStateException} if it is closed; nothing is enqueued then.
 */
public interface Stream extends AutoCloseable {

  /**
   * Copies host memory to {@code target}, starting at byte {@code offset}. The source must not
   * change until the copy has completed.
   */
  void upload(MemorySegment source, Buffer target, long offset);

  /** Fills {@code target} from {@code source}, starting at byte {@code offset}. */
  void download(Buffer source, long offset, MemorySegment target);

  /** Copies {@code bytes} bytes on the device. The ranges must not overlap. */
  void copy(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes);

  /** Sets {@code bytes} bytes, starting at {@code offset}, to a value. */
  void fill(Buffer target, long offset, long bytes, byte value);

  /**
   * Launches a kernel.
   *
   * @throws IllegalArgumentException if grid, block, shared memory or arguments do not match the
   *     kernel or exceed the device's limits
   */
  void launch(Launch launch);

  /** Records an event behind the work enqueued so far. */
  Event record();

  /** Makes later work of this stream wait for an event of another stream. */
  void await(Event event);

  /**
   * Waits until all work has completed.
   *
   * @throws DeviceException if work since the last call failed
   */
  void synchronize();

  /** Waits for the work and closes the stream. */
  @Override
  void close();
}
