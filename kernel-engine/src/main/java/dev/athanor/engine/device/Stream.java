package dev.athanor.engine.device;

import java.lang.foreign.MemorySegment;

/**
 * A queue whose work runs in the order in which it was enqueued. Methods return as soon as the work
 * is enqueued; its faults are thrown, as {@link DeviceException}s, at the latest by {@link
 * #synchronize()}.
 *
 * <p>All methods that take a buffer throw {@link IllegalArgumentException} when the range does not
 * lie in it and {@link IllegalStateException} when it is closed; nothing is enqueued then.
 */
public interface Stream extends AutoCloseable {

  /**
   * Copies host memory, which must not change until the copy is done, to {@code target} from byte
   * {@code offset} on.
   */
  void upload(MemorySegment source, Buffer target, long offset);

  /** Copies from byte {@code offset} of {@code source} as many bytes as {@code target} has. */
  void download(Buffer source, long offset, MemorySegment target);

  /** Copies {@code bytes} bytes on the device; the ranges must not overlap. */
  void copy(Buffer source, long sourceOffset, Buffer target, long targetOffset, long bytes);

  /** Sets {@code bytes} bytes from {@code offset} on to a value. */
  void fill(Buffer target, long offset, long bytes, byte value);

  /**
   * Runs a kernel.
   *
   * @throws IllegalArgumentException when grid, block, shared memory or arguments do not suit the
   *     kernel or the device, saying what was given and what would be right
   */
  void launch(Launch launch);

  /** Marks this place in the queue. */
  Event record();

  /** Lets later work of this stream wait for a mark of another. */
  void await(Event event);

  /**
   * Waits until all work is done.
   *
   * @throws DeviceException when work since the last call failed
   */
  void synchronize();

  /** Waits for the work and closes the queue. */
  @Override
  void close();
}
