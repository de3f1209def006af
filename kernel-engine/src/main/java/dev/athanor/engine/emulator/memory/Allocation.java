package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A buffer of the emulator: host memory behind an address that only kernels use. */
public final class Allocation implements Buffer, Memory {

  private final GlobalMemory memory;
  private final HostMemory block;
  private final MemorySegment segment;
  private final long address;
  private final String name;
  private final long bytes;
  private final @Nullable DefinedBytes defined;
  private volatile boolean closed;

  /**
   * @param block its first bytes are the buffer's
   * @param name what messages call it
   * @param sanitized whether it is kept in mind which bytes somebody has written
   */
  Allocation(
      GlobalMemory memory,
      HostMemory block,
      long bytes,
      long address,
      String name,
      boolean sanitized) {
    this.name = name;
    this.memory = memory;
    this.block = block;
    this.segment = block.segment().asSlice(0, bytes);
    this.address = address;
    this.bytes = bytes;
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
  public @Nullable DefinedBytes defined() {
    return defined;
  }

  /** Whether an address is one of its bytes. */
  boolean has(long of) {
    return of >= address && of < address + bytes;
  }

  /** Takes note that the host has written some bytes. */
  public void define(long offset, long count) {
    if (defined != null) {
      defined.setRange(offset, count);
    }
  }

  /** Fills bytes with values that show when they are used, as if nobody had written them. */
  void forget(long offset, long count) {
    GlobalMemory.poison(segment.asSlice(offset, count));
    if (defined != null) {
      defined.unsetRange(offset, count);
    }
  }

  public boolean belongsTo(GlobalMemory owner) {
    return memory == owner;
  }

  /** Whether kernels that are launched from now on may no longer touch it. */
  public boolean isClosed() {
    return closed;
  }

  /** Where its bytes lie. */
  HostMemory block() {
    return block;
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
