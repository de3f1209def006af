package dev.athanor.service.codec;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import tools.jackson.core.JsonEncoding;
import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.core.io.IOContext;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonFactoryBuilder;
import tools.jackson.core.json.UTF8StreamJsonParser;
import tools.jackson.core.sym.ByteQuadsCanonicalizer;

/**
 * Jackson's parser, which can also take the numbers of a list straight out of its buffer, where
 * they are plain: of few digits, and followed by the next or by the end of the list. No token is
 * made of them. All else, and all that is wrong, is left to the parser as it is.
 */
final class NumberParser extends UTF8StreamJsonParser {

  /** So many bytes must be buffered, so that no step of the way needs to look for their end. */
  private static final int AHEAD = 64;

  /** Enough for an exponent after the last digit, and for what follows it. */
  private static final int SLACK = 8;

  /** Below 10^18, so that a long holds them. */
  private static final int MOST_DIGITS = 18;

  private static final long EXACT = 1L << 53;

  /** The powers of ten that are doubles. */
  private static final double[] POWERS = new double[23];

  static {
    // 5^22 is below 2^53: each product is exact
    POWERS[0] = 1;
    for (int i = 1; i < POWERS.length; i++) {
      POWERS[i] = POWERS[i - 1] * 10;
    }
  }

  private int before;
  private boolean negative;
  private boolean whole;
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

  /** Makes such parsers of text that begins as JSON in UTF-8 usually does, and others of other. */
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
        start = in.readNBytes(2);
      } catch (IOException e) {
        throw JacksonIOException.construct(e, null);
      }
      // the second byte would be 0 in UTF-16 and UTF-32
      if (start.length < 2 || (start[0] != '{' && start[0] != '[') || start[1] == 0) {
        return super._createParser(
            readContext, context, new SequenceInputStream(new ByteArrayInputStream(start), in));
      }
      context.setEncoding(JsonEncoding.UTF8);
      var buffer = context.allocReadIOBuffer();
      System.arraycopy(start, 0, buffer, 0, start.length);
      return new NumberParser(
          readContext,
          context,
          readContext.getStreamReadFeatures(_streamReadFeatures),
          readContext.getFormatReadFeatures(_formatReadFeatures),
          in,
          _byteSymbolCanonicalizer.makeChild(_factoryFeatures),
          buffer,
          start.length);
    }
  }

  /**
   * Goes on to the next number of the list whose member was read last, if it is plain.
   *
   * @return whether it did; if not, {@link #nextToken()} says what there is
   */
  boolean nextPlain() {
    if (_inputEnd - _inputPtr < AHEAD) {
      return false;
    }
    var text = _inputBuffer;
    int last = _inputPtr + AHEAD - SLACK;
    int at = skipSpace(text, _inputPtr, last);
    if (text[at] != ',') {
      return false;
    }
    at = skipSpace(text, at + 1, last);
    negative = text[at] == '-';
    int first = negative ? at + 1 : at;
    at = first;
    long value = 0;
    for (int digit = text[at] - '0';
        digit >= 0 && digit <= 9 && at < last;
        digit = text[at] - '0') {
      value = 10 * value + digit;
      at++;
    }
    int count = at - first;
    if (count == 0 || (count > 1 && text[first] == '0')) {
      return false;
    }
    int power = 0;
    whole = true;
    if (text[at] == '.') {
      int point = at++;
      for (int digit = text[at] - '0';
          digit >= 0 && digit <= 9 && at < last;
          digit = text[at] - '0') {
        value = 10 * value + digit;
        at++;
      }
      power = point + 1 - at;
      if (power == 0) {
        return false;
      }
      count -= power;
      whole = false;
    }
    if ((text[at] | 0x20) == 'e') {
      at++;
      boolean small = text[at] == '-';
      if (small || text[at] == '+') {
        at++;
      }
      int start = at;
      int given = 0;
      for (int digit = text[at] - '0';
          digit >= 0 && digit <= 9 && at < start + 3;
          digit = text[at] - '0') {
        given = 10 * given + digit;
        at++;
      }
      if (at == start) {
        return false;
      }
      power += small ? -given : given;
      whole = false;
    }
    // leading zeros of 0.001 count too; whoever writes many of them is read more slowly
    if (count > MOST_DIGITS || !endsMember(text, at, last)) {
      return false;
    }
    digits = value;
    exponent = power;
    before = _inputPtr;
    _inputPtr = at;
    return true;
  }

  private static int skipSpace(byte[] text, int from, int last) {
    int at = from;
    while (text[at] == ' ' && at < last) {
      at++;
    }
    return at;
  }

  /** Whether the number ends here; a comma or bracket must follow, or the parser has to look. */
  private static boolean endsMember(byte[] text, int from, int last) {
    byte next = text[skipSpace(text, from, last)];
    return next == ',' || next == ']';
  }

  /** Goes back to before the number, so that the next token is it. */
  void back() {
    _inputPtr = before;
  }

  /** Whether the number was written without a fraction and an exponent. */
  boolean isWhole() {
    return whole;
  }

  /** The number, if it is whole. */
  long plainLong() {
    return negative ? -digits : digits;
  }

  /**
   * The number, correctly rounded; NaN where that takes more work. A quotient or a product of two
   * numbers that are doubles is rounded once (Clinger, How to read floating point numbers
   * accurately, 1990).
   */
  double plainDouble() {
    if (digits > EXACT || exponent < 1 - POWERS.length || exponent >= POWERS.length) {
      return Double.NaN;
    }
    double value =
        exponent < 0 ? (double) digits / POWERS[-exponent] : (double) digits * POWERS[exponent];
    return negative ? -value : value;
  }

  /**
   * The number, correctly rounded; NaN where that takes more work. The nearest double lies on the
   * same side of the middle between two floats as the number, unless it is that middle.
   */
  float plainFloat() {
    double value = plainDouble();
    double size = Math.abs(value);
    boolean normal = size >= Float.MIN_NORMAL && size <= Float.MAX_VALUE;
    boolean middle = (Double.doubleToRawLongBits(value) & 0x1FFF_FFFF) == 0x1000_0000;
    return (normal && !middle) || size == 0 ? (float) value : Float.NaN;
  }
}
