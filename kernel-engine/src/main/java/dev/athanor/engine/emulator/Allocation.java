package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A buffer of the emulator: host memory behind an address that only kernels use. */
final class Allocation implements Buffer, Memory {

  private final GlobalMemory memory;
  private final Arena arena;
  private final MemorySegment segment;
  private final long address;
  private final String name;
  private final long bytes;
  private volatile boolean closed;

  /**
   * @param name what messages call it
   */
  Allocation(GlobalMemory memory, Arena arena, MemorySegment segment, long address, String name) {
    this.name = name;
    this.memory = memory;
    this.arena = arena;
    this.segment = segment;
    this.address = address;
    this.bytes = segment.byteSize();
  }

  @Override
  public MemorySegment segment() {
    return segment;
  }

  @Override
  public Space space() {
    return Space.GLOBAL;
  }

  boolean belongsTo(GlobalMemory owner) {
    return memory == owner;
  }

  /** Whether kernels that are launched from now on may no longer touch it. */
  boolean isClosed() {
    return closed;
  }

  /** Gives the bytes back to the host. */
  void free() {
    arena.close();
  }

  @Override
  public long address() {
    return address;
  }

  @Override
  public long bytes() {
    return bytes;
  }

  @Override
  public void close() {
    synchronized (memory) {
      if (!closed) {
        closed = true;
        memory.release(this);
      }
    }
  }

  @Override
  public String toString() {
    return "%s of %d bytes at 0x%x".formatted(name, bytes, address);
  }
}
