package dev.athanor.service.codec;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** A stream of bytes from a client that can be read directly into off-heap memory. */
public abstract class ByteSource extends InputStream {

  private static final int BUFFER_BYTES = 1 << 13;

  /** Wraps a stream. */
  public static ByteSource of(InputStream in) {
    return new ByteSource() {
      @Override
      public int read(byte[] target, int offset, int length) throws IOException {
        return in.read(target, offset, length);
      }
    };
  }

  @Override
  public abstract int read(byte[] target, int offset, int length) throws IOException;

  /**
   * Reads bytes into {@code target} and advances its position.
   *
   * @param target has space for at least one byte
   * @return the number of bytes; -1 at the end
   */
  public int read(ByteBuffer target) throws IOException {
    var bytes = new byte[Math.min(target.remaining(), BUFFER_BYTES)];
    int n = read(bytes, 0, bytes.length);
    if (n > 0) {
      target.put(bytes, 0, n);
    }
    return n;
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }
}
