package dev.athanor.service.transfer;

import dev.athanor.service.device.Piece;
import dev.athanor.service.transfer.Transfers.PendingPiece;
import org.jspecify.annotations.Nullable;

/**
 * Reads a range of a tensor in pieces and prefetches the next piece while the client receives the
 * current one. The first piece is available immediately.
 */
public final class ReadAhead implements AutoCloseable {

  /** Starts reading at an offset. */
  interface Source {
    /** Starts reading at most {@code bytes} bytes, as many as fit into one piece. */
    PendingPiece begin(long offset, long bytes);
  }

  private final Transfers.Reader reader;
  private final Source source;
  private Piece piece;
  private @Nullable PendingPiece next;
  private long at;
  private long left;

  /**
   * Reads the first piece and starts reading the second.
   *
   * @param reader closed after the last read, so that a slow client does not keep the tensor locked
   * @param length in bytes
   */
  ReadAhead(Transfers.Reader reader, Source source, long at, long length) {
    this.reader = reader;
    this.source = source;
    this.at = at;
    left = length;
    piece = begin().await();
    try {
      next = left == 0 ? null : begin();
    } catch (RuntimeException e) {
      piece.close();
      throw e;
    }
  }

  private PendingPiece begin() {
    var pending = source.begin(at, left);
    at += pending.length();
    left -= pending.length();
    if (left == 0) {
      reader.close();
    }
    return pending;
  }

  /** Returns the current piece, valid until {@link #next()}. */
  public Piece current() {
    return piece;
  }

  /** Advances to the next piece; returns false at the end. */
  public boolean next() {
    if (next == null) {
      return false;
    }
    piece.close();
    piece = next.await();
    next = left == 0 ? null : begin();
    return true;
  }

  @Override
  public void close() {
    if (next != null) {
      next.close();
    }
    piece.close();
  }
}
