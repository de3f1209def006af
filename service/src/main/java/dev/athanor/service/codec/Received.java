package dev.athanor.service.codec;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * Bytes that a client sends, in memory that follows what has come and not what was said: whoever
 * has sent the first of them is believed a few times as much.
 */
public final class Received {

  /** As much as anybody is believed. */
  static final long FIRST = 1 << 20;

  private static final int GROWTH = 8;

  private final ByteSource in;
  private final HostAllocator memory;

  /**
   * None yet.
   *
   * @param memory where they are to lie
   */
  public Received(ByteSource in, HostAllocator memory) {
    this.in = in;
    this.memory = memory;
  }

  /** Those that come until the end, or until there are as many as there may be. */
  public MemorySegment upTo(long most) throws IOException {
    var bytes = MemorySegment.NULL;
    long size = 0;
    while (size < most) {
      bytes = grow(bytes, Math.min(Math.max(FIRST, size * GROWTH), most));
      size += fill(bytes.asSlice(size));
      if (size < bytes.byteSize()) {
        break;
      }
    }
    return bytes.asSlice(0, size);
  }

  private MemorySegment grow(MemorySegment bytes, long size) {
    var more = memory.allocate(size, Double.BYTES);
    if (bytes.byteSize() > 0) {
      MemorySegment.copy(bytes, 0, more, 0, bytes.byteSize());
      memory.giveBack(bytes);
    }
    return more;
  }

  /** Reads until the end or until all is full, and answers how many have come. */
  private long fill(MemorySegment target) throws IOException {
    var buffer = target.asByteBuffer();
    while (buffer.hasRemaining() && in.read(buffer) >= 0) {
      // goes on
    }
    return buffer.position();
  }
}
