package dev.athanor.service.device;

import java.lang.foreign.MemorySegment;

/** A piece of pinned host memory, in use until it is closed. */
public final class Piece implements AutoCloseable {
  private final MemorySegment bytes;
  private final Runnable release;
  private boolean closed;

  public Piece(MemorySegment bytes, Runnable release) {
    this.bytes = bytes;
    this.release = release;
  }

  /** Returns the memory, whose contents are undefined until written. */
  public MemorySegment bytes() {
    return bytes;
  }

  /** Returns the memory to its pool; no work may still use it. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      release.run();
    }
  }
}
