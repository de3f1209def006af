package dev.athanor.service.device;

import java.lang.foreign.MemorySegment;

/** Some host memory that a device reaches itself, in use until it is closed. */
public final class Piece implements AutoCloseable {
  private final MemorySegment bytes;
  private final Runnable giveBack;
  private boolean closed;

  public Piece(MemorySegment bytes, Runnable giveBack) {
    this.bytes = bytes;
    this.giveBack = giveBack;
  }

  /** The memory; what it holds is undefined until it is written. */
  public MemorySegment bytes() {
    return bytes;
  }

  /** Gives it to the next; no work may use it any more. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      giveBack.run();
    }
  }
}
