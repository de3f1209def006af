package dev.athanor.engine.device;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/**
 * Memory of the host that a device reads and writes itself: a GPU's is page-locked, so that uploads
 * from it and downloads to it run beside everything else, at the speed of the bus. It takes none of
 * the device's memory. Page-locking is slow and takes from what other programs can use, so such
 * memory is better kept than allocated for every copy.
 */
public final class HostMemory implements AutoCloseable {

  /** Of the first byte. */
  private static final long ALIGNMENT = 256;

  private final MemorySegment segment;
  private final Arena arena;
  private final Consumer<HostMemory> release;

  /**
   * Memory that a device has allocated.
   *
   * @param arena what the segment lives in, closed before it is released
   * @param release is given this once, when it is closed
   */
  public HostMemory(MemorySegment segment, Arena arena, Consumer<HostMemory> release) {
    this.segment = segment;
    this.arena = arena;
    this.release = release;
  }

  /**
   * Memory as any other, for a device that reaches all of the host's.
   *
   * @param release is given this once, when it is closed
   * @throws IllegalArgumentException when no byte is asked for
   * @throws DeviceException.OutOfMemory when so much is not to be had
   */
  public static HostMemory pageable(long bytes, Consumer<HostMemory> release) {
    check(bytes);
    var arena = Arena.ofShared();
    try {
      return new HostMemory(arena.allocate(bytes, ALIGNMENT), arena, release);
    } catch (OutOfMemoryError e) {
      arena.close();
      var refused = DeviceException.OutOfMemory.ofHost(bytes, String.valueOf(e.getMessage()));
      refused.initCause(e);
      throw refused;
    }
  }

  /**
   * Checks a size that is asked for.
   *
   * @throws IllegalArgumentException when it is no byte
   */
  public static void check(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("host memory has at least 1 byte, got " + bytes);
    }
  }

  /** The memory, which any thread may use until it is closed. */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Gives the memory back once the work has finished with it that the device's streams held before.
   * Closing twice does nothing; from then on its segment is refused.
   *
   * @throws IllegalStateException when another thread is just reading or writing the segment;
   *     nothing is closed then
   */
  @Override
  public synchronized void close() {
    if (segment.scope().isAlive()) {
      arena.close();
      release.accept(this);
    }
  }
}
