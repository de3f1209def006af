package dev.athanor.service.codec;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;

/** Bytes that a client sends, which reach memory outside of the heap without a detour. */
public abstract class ByteSource extends InputStream {

  private static final int AT_ONCE = 1 << 13;

  /** Bytes that come from anywhere. */
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
   * Reads some bytes to the position of {@code target}, and moves it behind them.
   *
   * @param target with room for at least one
   * @return how many; -1 at the end
   */
  public int read(ByteBuffer target) throws IOException {
    var bytes = new byte[Math.min(target.remaining(), AT_ONCE)];
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
