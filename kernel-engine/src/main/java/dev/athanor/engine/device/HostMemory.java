package dev.athanor.engine.device;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;

/**
 * Host memory that a device accesses directly. For GPUs it is page-locked, so uploads from it and
 * downloads to it are asynchronous and run at the speed of the bus. Page-locking is slow and takes
 * physical memory from other programs, so reuse such memory instead of allocating it for each copy.
 */
public final class HostMemory implements AutoCloseable {

  /** Alignment of the first byte. */
  private static final long ALIGNMENT = 256;

  private final MemorySegment segment;
  private final Arena arena;
  private final Consumer<HostMemory> release;

  /**
   * Wraps memory that a device has allocated.
   *
   * @param arena the arena of the segment; closed before {@code release} is called
   * @param release frees the memory; called once, on close
   */
  public HostMemory(MemorySegment segment, Arena arena, Consumer<HostMemory> release) {
    this.segment = segment;
    this.arena = arena;
    this.release = release;
  }

  /**
   * Allocates ordinary native memory, for a device that can access all host memory.
   *
   * @param release frees the memory; called once, on close
   * @throws IllegalArgumentException if {@code bytes} is less than 1
   * @throws DeviceException.OutOfMemory if the host has too little memory
   */
  public static HostMemory pageable(long bytes, Consumer<HostMemory> release) {
    check(bytes);
    var arena = Arena.ofShared();
    try {
      return new HostMemory(arena.allocate(bytes, ALIGNMENT), arena, release);
    } catch (OutOfMemoryError e) {
      arena.close();
      var failure = DeviceException.OutOfMemory.ofHost(bytes, String.valueOf(e.getMessage()));
      failure.initCause(e);
      throw failure;
    }
  }

  /**
   * Checks a requested size.
   *
   * @throws IllegalArgumentException if it is less than 1
   */
  public static void check(long bytes) {
    if (bytes < 1) {
      throw new IllegalArgumentException("host memory must have at least 1 byte, got " + bytes);
    }
  }

  /** Returns the memory, which any thread may use until it is closed. */
  public MemorySegment segment() {
    return segment;
  }

  /**
   * Frees the memory after the work that the device's streams hold now. Closing twice has no
   * effect; the segment is inaccessible afterwards.
   *
   * @throws IllegalStateException if another thread is accessing the segment; the memory stays open
   */
  @Override
  public synchronized void close() {
    if (segment.scope().isAlive()) {
      arena.close();
      release.accept(this);
    }
  }
}
