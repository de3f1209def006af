package dev.athanor.service.transfer;

import dev.athanor.service.device.Piece;
import dev.athanor.service.transfer.Transfers.Reading;
import org.jspecify.annotations.Nullable;

/**
 * A part of a tensor, piece by piece. The first piece is there from the beginning; while a client
 * takes one, the next comes from the device.
 */
public final class ReadAhead implements AutoCloseable {

  /** Begins to read at an offset, as much of some bytes as goes into a piece. */
  interface Source {
    Reading begin(long offset, long bytes);
  }

  private final Transfers.Reader reader;
  private final Source source;
  private Piece piece;
  private @Nullable Reading ahead;
  private long at;
  private long left;

  /**
   * Reads the first piece.
   *
   * @param reader is closed when nothing is left to read, so that a client that is slow to take the
   *     rest holds no tensor
   * @param length in bytes; at least 1
   */
  ReadAhead(Transfers.Reader reader, Source source, long at, long length) {
    this.reader = reader;
    this.source = source;
    this.at = at;
    left = length;
    piece = begin().await();
    try {
      ahead = left == 0 ? null : begin();
    } catch (RuntimeException e) {
      piece.close();
      throw e;
    }
  }

  private Reading begin() {
    var reading = source.begin(at, left);
    at += reading.length();
    left -= reading.length();
    if (left == 0) {
      reader.close();
    }
    return reading;
  }

  /** The piece at hand, until the next is there. */
  public Piece current() {
    return piece;
  }

  /** Goes on to the next piece; false at the end. */
  public boolean next() {
    if (ahead == null) {
      return false;
    }
    piece.close();
    piece = ahead.await();
    ahead = left == 0 ? null : begin();
    return true;
  }

  @Override
  public void close() {
    if (ahead != null) {
      ahead.close();
    }
    piece.close();
  }
}
