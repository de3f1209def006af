package dev.athanor.service.codec;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;
import tools.jackson.core.JsonEncoding;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.core.io.IOContext;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonFactoryBuilder;
import tools.jackson.core.json.UTF8StreamJsonParser;
import tools.jackson.core.sym.ByteQuadsCanonicalizer;

/**
 * A Jackson parser with a fast path for lists of numbers. It reads plain numbers, which have few
 * digits and are followed by another or by the end of the list, directly from the buffer without
 * creating tokens. Everything else, including errors, is handled by the regular parser.
 */
final class NumberParser extends UTF8StreamJsonParser {

  /** Buffer size; large enough to read a tensor with few system calls. */
  private static final int BUFFER = 1 << 15;

  /** Bytes that must be buffered, so that the fast path needs no bounds checks. */
  private static final int AHEAD = 64;

  /** Space for eight digits, an exponent and the following character. */
  private static final int SLACK = 24;

  /** Numbers below 10^19 fit into an unsigned long. */
  private static final int MAX_DIGITS = 19;

  /** The byte order mark in UTF-8. */
  private static final byte[] MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

  private static final VarHandle EIGHT =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Powers of ten that shift the digits read so far, by the number of digits appended. */
  private static final long[] POWERS = {
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000
  };

  private long digits;
  private int exponent;

  private NumberParser(
      ObjectReadContext readContext,
      IOContext context,
      int streamFeatures,
      int formatFeatures,
      InputStream in,
      ByteQuadsCanonicalizer symbols,
      byte[] buffer,
      int end) {
    super(
        readContext, context, streamFeatures, formatFeatures, in, symbols, buffer, 0, end, 0, true);
  }

  /** Creates parsers for text in UTF-8, with or without a byte order mark. */
  static final class Factory extends JsonFactory {
    private static final long serialVersionUID = 1;

    Factory(JsonFactoryBuilder builder) {
      super(builder);
    }

    @Override
    protected JsonParser _createParser(
        ObjectReadContext readContext, IOContext context, InputStream in) {
      byte[] start;
      try {
        start = in.readNBytes(MARK.length);
      } catch (IOException e) {
        throw JacksonIOException.construct(e, null);
      }
      int length = Arrays.equals(start, MARK) ? 0 : start.length;
      context.setEncoding(JsonEncoding.UTF8);
      var buffer = context.allocReadIOBuffer(BUFFER);
      System.arraycopy(start, 0, buffer, 0, length);
      return new NumberParser(
          readContext,
          context,
          readContext.getStreamReadFeatures(_streamReadFeatures),
          readContext.getFormatReadFeatures(_formatReadFeatures),
          in,
          _byteSymbolCanonicalizer.makeChild(_factoryFeatures),
          buffer,
          length);
    }
  }

  /** Receives numbers. */
  @FunctionalInterface
  interface Sink {
    /**
     * Receives one number.
     *
     * @param digits without a sign
     * @param exponent the power of ten by which the digits are multiplied
     * @return whether it was accepted; if not, the parser stays before it
     */
    boolean take(boolean negative, long digits, int exponent, boolean whole);
  }

  /**
   * Reads the plain numbers that follow the current list start or element. Then {@link
   * #nextToken()} continues.
   *
   * @return how many were accepted
   */
  long plainNumbers(Sink taker) {
    var text = _inputBuffer;
    boolean first = currentToken() == JsonToken.START_ARRAY;
    for (long taken = 0; ; taken++) {
      if (_inputEnd - _inputPtr < AHEAD && !readAhead()) {
        return taken;
      }
      int last = _inputPtr + AHEAD - SLACK;
      int at = skipSpace(text, _inputPtr, last);
      if (!first) {
        if (text[at] != ',') {
          return taken;
        }
        at = skipSpace(text, at + 1, last);
      }
      boolean negative = text[at] == '-';
      int start = negative ? at + 1 : at;
      digits = 0;
      int end = readDigits(text, start, last);
      int count = end - start;
      if (count == 0 || (count > 1 && text[start] == '0')) {
        return taken;
      }
      int power = 0;
      if (text[end] == '.') {
        int point = end + 1;
        end = readDigits(text, point, last);
        power = point - end;
        if (power == 0) {
          return taken;
        }
        count -= power;
      }
      boolean whole = power == 0;
      if ((text[end] | 0x20) == 'e') {
        end = readExponent(text, end + 1);
        if (end < 0) {
          return taken;
        }
        power += exponent;
        whole = false;
      }
      if ((count > MAX_DIGITS && count - zeros(text, start) > MAX_DIGITS)
          || !endsMember(text, end, last)
          || !taker.take(negative, digits, power, whole)) {
        return taken;
      }
      _inputPtr = end;
      if (first) {
        _streamReadContext.expectComma(); // so that the parser counts this element, too
        first = false;
      }
    }
  }

  /**
   * Reads an exponent.
   *
   * @return its end; -1 if there is none
   */
  private int readExponent(byte[] text, int from) {
    boolean small = text[from] == '-';
    int start = small || text[from] == '+' ? from + 1 : from;
    int at = start;
    int given = 0;
    for (int digit = text[at] - '0';
        digit >= 0 && digit <= 9 && at < start + 3;
        digit = text[at] - '0') {
      given = 10 * given + digit;
      at++;
    }
    exponent = small ? -given : given;
    return at == start ? -1 : at;
  }

  /**
   * Moves the remaining bytes to the start of the buffer and reads more.
   *
   * @return whether enough bytes are buffered
   */
  private boolean readAhead() {
    if (_inputStream == null) { // end of input
      return false;
    }
    int left = _inputEnd - _inputPtr;
    System.arraycopy(_inputBuffer, _inputPtr, _inputBuffer, 0, left);
    _currInputProcessed += _inputPtr;
    _currInputRowStart -= _inputPtr;
    _inputPtr = 0;
    _inputEnd = left;
    try {
      int got = 0;
      while (got >= 0 && _inputEnd < AHEAD) {
        got = _inputStream.read(_inputBuffer, _inputEnd, _inputBuffer.length - _inputEnd);
        _inputEnd += Math.max(got, 0);
      }
    } catch (IOException e) {
      throw JacksonIOException.construct(e, this);
    }
    return _inputEnd >= AHEAD;
  }

  /**
   * Loads eight characters as digit values, the first in the lowest byte; 10 or more for other
   * characters.
   */
  private static long eight(byte[] text, int at) {
    return (long) EIGHT.get(text, at) ^ 0x3030_3030_3030_3030L;
  }

  /** Returns the number of leading digits. */
  private static int count(long eight) {
    // a carry out of a non-digit does not affect the digits before it
    long none = ((eight + 0x7676_7676_7676_7676L) | eight) & 0x8080_8080_8080_8080L;
    return Long.numberOfTrailingZeros(none) >>> 3;
  }

  /**
   * Appends the following digits to {@code digits}. It processes sixteen at a time without a branch
   * for shorter numbers, since their lengths vary and branches would be mispredicted.
   *
   * @return the end of the digits
   */
  private int readDigits(byte[] text, int from, int last) {
    if (text[from + 1] < '0') { // a single digit
      int digit = text[from] - '0';
      if (digit >= 0 && digit <= 9) {
        digits = 10 * digits + digit;
        return from + 1;
      }
      return from;
    }
    int at = from;
    for (int more = 8; more == 8 && at < last; ) {
      long high = eight(text, at);
      long low = eight(text, at + 8);
      int some = count(high);
      more = count(low) & -(some >>> 3);
      digits =
          (digits * POWERS[some] + number(first(high, some))) * POWERS[more]
              + number(first(low, more));
      at += some + more;
    }
    return at;
  }

  /** Keeps the first {@code count} digits and shifts zeros in before them. */
  private static long first(long eight, int count) {
    int half = 4 * (8 - count); // a shift by 64 would be a shift by 0
    return eight << half << half;
  }

  /** Combines eight digits into a number: pairs, then pairs of pairs, then all. */
  private static long number(long eight) {
    long all = (eight * (1 + (10 << 8))) >>> 8;
    all = ((all & 0x00FF_00FF_00FF_00FFL) * (1 + (100 << 16))) >>> 16;
    return ((all & 0x0000_FFFF_0000_FFFFL) * (1 + (10_000L << 32))) >>> 32;
  }

  private static int skipSpace(byte[] text, int from, int last) {
    int at = from;
    while (text[at] == ' ' && at < last) {
      at++;
    }
    return at;
  }

  /** Whether the number ends here; otherwise the regular parser handles it. */
  private static boolean endsMember(byte[] text, int from, int last) {
    byte next = text[skipSpace(text, from, last)];
    return next == ',' || next == ']';
  }

  /** Returns the number of leading zeros. */
  private static int zeros(byte[] text, int first) {
    int at = first;
    while (text[at] == '0' || text[at] == '.') {
      at++;
    }
    return at > first + 1 ? at - first - 1 : at - first;
  }
}
