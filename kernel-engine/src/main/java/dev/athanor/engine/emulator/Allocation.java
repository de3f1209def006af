package dev.athanor.engine.emulator;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A buffer of the emulator: host memory behind an address that only kernels use. */
final class Allocation implements Buffer, Memory {

  private final GlobalMemory memory;
  private final Arena arena;
  private final MemorySegment segment;
  private final long address;
  private final String name;
  private final long bytes;
  private final @Nullable DefinedBytes defined;
  private volatile boolean closed;

  /**
   * @param name what messages call it
   * @param sanitized whether it is kept in mind which bytes somebody has written
   */
  Allocation(
      GlobalMemory memory,
      Arena arena,
      MemorySegment segment,
      long address,
      String name,
      boolean sanitized) {
    this.name = name;
    this.memory = memory;
    this.arena = arena;
    this.segment = segment;
    this.address = address;
    this.bytes = segment.byteSize();
    this.defined = sanitized ? new DefinedBytes(bytes) : null;
  }

  @Override
  public MemorySegment segment() {
    return segment;
  }

  @Override
  public Space space() {
    return Space.GLOBAL;
  }

  /** Which bytes somebody has written; null = it is not kept in mind. */
  @Nullable DefinedBytes defined() {
    return defined;
  }

  /** Whether an address is one of its bytes. */
  boolean has(long of) {
    return of >= address && of < address + bytes;
  }

  /** Takes note that the host has written some bytes. */
  void define(long offset, long count) {
    if (defined != null) {
      defined.setRange(offset, count);
    }
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
