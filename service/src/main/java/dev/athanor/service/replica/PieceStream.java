package dev.athanor.service.replica;

import dev.athanor.service.transfer.ReadAhead;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** The contents of a tensor as a stream of bytes. */
final class PieceStream extends InputStream {

  private final ReadAhead pieces;
  private ByteBuffer current;

  /** The stream does not close {@code pieces}. */
  PieceStream(ReadAhead pieces) {
    this.pieces = pieces;
    current = pieces.current().bytes().asByteBuffer();
  }

  @Override
  public int read() {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] target, int offset, int length) {
    while (!current.hasRemaining()) {
      if (!pieces.next()) {
        return -1;
      }
      current = pieces.current().bytes().asByteBuffer();
    }
    int count = Math.min(length, current.remaining());
    current.get(target, offset, count);
    return count;
  }
}
