package dev.athanor.service.codec;

import dev.athanor.service.failure.Failure;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A stream that rejects malformed UTF-8 (RFC 3629): overlong forms, surrogates, truncated
 * sequences. It also rejects NUL, which never occurs unescaped in JSON but in every JSON text in
 * UTF-16 or UTF-32.
 */
final class Utf8Input extends InputStream {

  private static final VarHandle EIGHT =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long ONES = 0x0101_0101_0101_0101L;
  private static final long HIGH = 0x8080_8080_8080_8080L;

  private final InputStream in;
  private final String what;
  private long position;

  /** The number of continuation bytes missing from the current character. */
  private int missing;

  /** The bounds of the next continuation byte. */
  private int min;

  private int max;

  /**
   * Wraps a stream.
   *
   * @param what the name of the text in errors, such as {@code the body}
   */
  Utf8Input(InputStream in, String what) {
    this.in = in;
    this.what = what;
  }

  @Override
  public int read() throws IOException {
    var one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] target, int offset, int length) throws IOException {
    int n = in.read(target, offset, length);
    if (n < 0 && missing > 0) {
      throw malformed(position);
    }
    int end = offset + Math.max(n, 0);
    for (int at = offset; at < end; at++) {
      at += missing == 0 ? ascii(target, at, end) : 0;
      if (at < end) {
        check(target[at] & 0xFF, position + (at - offset));
      }
    }
    position += Math.max(n, 0);
    return n;
  }

  /**
   * Returns the number of ASCII bytes other than NUL from here on, rounded down to a multiple of
   * eight.
   */
  private static int ascii(byte[] text, int from, int end) {
    int at = from;
    while (at <= end - 8) {
      long eight = (long) EIGHT.get(text, at);
      if ((((eight - ONES) | eight) & HIGH) != 0) {
        break;
      }
      at += 8;
    }
    return at - from;
  }

  private void check(int next, long at) {
    if (missing > 0) {
      if (next < min || next > max) {
        throw malformed(at);
      }
      missing--;
      expect(missing, 0x80, 0xBF);
    } else if (next == 0 || (next > 0x7F && next < 0xC2) || next > 0xF4) {
      throw malformed(at);
    } else if (next >= 0xF0) {
      expect(3, next == 0xF0 ? 0x90 : 0x80, next == 0xF4 ? 0x8F : 0xBF);
    } else if (next >= 0xE0) {
      expect(2, next == 0xE0 ? 0xA0 : 0x80, next == 0xED ? 0x9F : 0xBF);
    } else if (next > 0x7F) {
      expect(1, 0x80, 0xBF);
    }
  }

  private void expect(int bytes, int from, int to) {
    missing = bytes;
    min = from;
    max = to;
  }

  private Failure malformed(long at) {
    return Json.malformed(
        "%s is not UTF-8 text at byte %d; send JSON in UTF-8".formatted(what, at));
  }

  @Override
  public int available() throws IOException {
    return in.available();
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
