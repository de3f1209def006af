package dev.athanor.engine.emulator.memory;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.ptx.Modifier.Space;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/** A buffer of the emulator: host memory at a device address, which only kernels use. */
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
   * @param block the host memory, of which the buffer occupies the first bytes
   * @param name of the buffer in messages
   * @param sanitized whether to track which bytes have been written
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

  /** The bytes that have been written; null = they are not tracked. */
  public @Nullable DefinedBytes defined() {
    return defined;
  }

  /** Whether an address lies in the buffer. */
  boolean contains(long at) {
    return at >= address && at < address + bytes;
  }

  /** Records that the host has written some bytes. */
  public void define(long offset, long count) {
    if (defined != null) {
      defined.setRange(offset, count);
    }
  }

  /** Poisons bytes and marks them as never written. */
  void undefine(long offset, long count) {
    GlobalMemory.poison(segment.asSlice(offset, count));
    if (defined != null) {
      defined.unsetRange(offset, count);
    }
  }

  public boolean belongsTo(GlobalMemory owner) {
    return memory == owner;
  }

  /** Whether the buffer is closed: kernels launched from now on must not access it. */
  public boolean isClosed() {
    return closed;
  }

  /** The host memory of the buffer. */
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
