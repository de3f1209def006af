package dev.athanor.engine.ptx.meaning;

import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * C's {@code printf} formatting as device code uses it (CUDA programming guide, formatted output).
 * Floating-point values are converted exactly and rounded half to even.
 */
public final class PrintFormat {

  /** Maximum number of arguments; directives beyond are printed verbatim. */
  public static final int MAX_ARGUMENTS = 32;

  /** Maximum width and precision, so that no call allocates gigabytes. */
  private static final int MAX_WIDTH = 1 << 16;

  /** The arguments of a call and the strings that they point to. */
  public interface Arguments {
    /** Returns the next 32-bit argument. */
    int next32();

    /** Returns the next 64-bit argument. */
    long next64();

    /**
     * Reads a zero-terminated string.
     *
     * @param most the maximum number of bytes to read
     */
    byte[] string(long address, int most);
  }

  /** A directive: {@code %[flags][width][.precision][size]type}. */
  private static final class Directive {
    boolean left;
    boolean plus;
    boolean space;
    boolean alternate;
    boolean zeros;
    int width;
    int precision = -1;

    /** Width of an integer argument; 8 and 16 bits are passed as 32. */
    int bits = 32;

    char type;
  }

  private final byte[] format;
  private final Arguments arguments;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private int at;
  private int taken;

  private PrintFormat(byte[] format, Arguments arguments) {
    this.format = format;
    this.arguments = arguments;
  }

  /** Formats the arguments of a call. */
  public static PrintFormat format(byte[] format, Arguments arguments) {
    var call = new PrintFormat(format, arguments);
    call.all();
    return call;
  }

  /** Returns the output of the call. */
  public byte[] text() {
    return out.toByteArray();
  }

  /** Returns how many arguments the directives consumed. */
  public int taken() {
    return taken;
  }

  private void all() {
    while (at < format.length) {
      if (format[at] != '%') {
        out.write(format[at++]);
        continue;
      }
      int start = at++;
      if (at < format.length && format[at] == '%') {
        out.write('%');
        at++;
      } else if (!directive()) {
        out.write(format, start, at - start); // undefined in C; CUDA prints the directive verbatim
      }
    }
  }

  private char peek() {
    return at < format.length ? (char) (format[at] & 0xFF) : 0;
  }

  /** Formats the directive after a {@code %}; returns whether it is valid. */
  private boolean directive() {
    var directive = new Directive();
    while (flag(directive, peek())) {
      at++;
    }
    int needed = 1;
    boolean widthGiven = peek() == '*';
    boolean precisionGiven = false;
    if (widthGiven) {
      at++;
      needed++;
    } else {
      directive.width = number();
    }
    if (peek() == '.') {
      at++;
      precisionGiven = peek() == '*';
      if (precisionGiven) {
        at++;
        needed++;
      } else {
        directive.precision = number();
      }
    }
    directive.bits = bits();
    directive.type = peek();
    if ("diouxXcsfFeEgGaAp".indexOf(directive.type) < 0 || directive.type == 0) {
      return false;
    }
    at++;
    if (taken + needed > MAX_ARGUMENTS) {
      return false;
    }
    taken += needed;
    if (widthGiven) {
      int width = arguments.next32();
      directive.left |= width < 0;
      directive.width = width == Integer.MIN_VALUE ? MAX_WIDTH : Math.abs(width);
    }
    if (precisionGiven) {
      directive.precision = Math.max(-1, arguments.next32());
    }
    directive.width = Math.min(directive.width, MAX_WIDTH);
    directive.precision = Math.min(directive.precision, MAX_WIDTH);
    print(directive);
    return true;
  }

  private static boolean flag(Directive directive, char c) {
    switch (c) {
      case '-' -> directive.left = true;
      case '+' -> directive.plus = true;
      case ' ' -> directive.space = true;
      case '#' -> directive.alternate = true;
      case '0' -> directive.zeros = true;
      default -> {
        return false;
      }
    }
    return true;
  }

  private int number() {
    int value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = Math.min(MAX_WIDTH, 10 * value + (format[at++] - '0'));
    }
    return value;
  }

  /** Returns the bits of an integer argument of the directive's size; long has 64. */
  private int bits() {
    char size = peek();
    if ("hlzjt".indexOf(size) < 0 || size == 0) {
      return 32;
    }
    at++;
    boolean twice = (size == 'h' || size == 'l') && peek() == size;
    if (twice) {
      at++;
    }
    return size != 'h' ? 64 : twice ? 8 : 16;
  }

  private void print(Directive d) {
    switch (d.type) {
      case 'd', 'i' -> signed(d);
      case 'o', 'u', 'x', 'X' -> unsigned(d);
      case 'c' -> pad(d, "", new byte[] {(byte) arguments.next32()}, false);
      case 's' -> string(d);
      case 'p' -> pointer(d);
      default -> floating(d, Double.longBitsToDouble(arguments.next64()));
    }
  }

  private void signed(Directive d) {
    long value = d.bits == 64 ? arguments.next64() : arguments.next32();
    value = d.bits == 8 ? (byte) value : d.bits == 16 ? (short) value : value;
    integer(d, sign(d, value < 0), Long.toUnsignedString(value < 0 ? -value : value));
  }

  private void unsigned(Directive d) {
    long value = d.bits == 64 ? arguments.next64() : arguments.next32() & 0xFFFF_FFFFL;
    value = d.bits == 8 ? value & 0xFF : d.bits == 16 ? value & 0xFFFF : value;
    switch (d.type) {
      case 'u' -> integer(d, "", Long.toUnsignedString(value));
      case 'o' -> {
        var digits = Long.toOctalString(value);
        integer(
            d,
            "",
            d.alternate && !digits.startsWith("0") && d.precision <= digits.length()
                ? "0" + digits
                : digits);
      }
      default -> {
        var digits = Long.toHexString(value);
        boolean upper = d.type == 'X';
        integer(
            d,
            !d.alternate || value == 0 ? "" : upper ? "0X" : "0x",
            upper ? digits.toUpperCase(Locale.ROOT) : digits);
      }
    }
  }

  private static String sign(Directive d, boolean negative) {
    return negative ? "-" : d.plus ? "+" : d.space ? " " : "";
  }

  /** Formats an integer; the precision is the minimum number of digits. */
  private void integer(Directive d, String prefix, String digits) {
    boolean none = d.precision == 0 && digits.equals("0") && !(d.alternate && d.type == 'o');
    var shown = none ? "" : digits;
    if (d.precision > shown.length()) {
      shown = "0".repeat(d.precision - shown.length()) + shown;
    }
    pad(d, prefix, ascii(shown), d.precision < 0);
  }

  private void string(Directive d) {
    long address = arguments.next64();
    int most = d.precision < 0 ? Integer.MAX_VALUE : d.precision;
    var text = address != 0 ? arguments.string(address, most) : most < 6 ? "" : "(null)";
    pad(d, "", text instanceof byte[] bytes ? bytes : ascii((String) text), false);
  }

  private void pointer(Directive d) {
    long address = arguments.next64();
    if (address == 0) {
      pad(d, "", ascii("(nil)"), false);
    } else {
      integer(d, sign(d, false) + "0x", Long.toHexString(address));
    }
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /**
   * Pads a conversion to its width.
   *
   * @param zeros whether to pad with zeros after the prefix
   */
  private void pad(Directive d, String prefix, byte[] text, boolean zeros) {
    int missing = Math.max(0, d.width - prefix.length() - text.length);
    boolean leading = zeros && d.zeros && !d.left;
    if (!d.left && !leading) {
      fill(' ', missing);
    }
    out.writeBytes(ascii(prefix));
    if (leading) {
      fill('0', missing);
    }
    out.writeBytes(text);
    if (d.left) {
      fill(' ', missing);
    }
  }

  private void fill(char with, int count) {
    for (int i = 0; i < count; i++) {
      out.write(with);
    }
  }

  private void floating(Directive d, double value) {
    var sign = sign(d, Double.doubleToRawLongBits(value) < 0);
    boolean upper = Character.isUpperCase(d.type);
    double size = Math.abs(value);
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      var word = Double.isNaN(value) ? "nan" : "inf";
      pad(d, sign, ascii(upper ? word.toUpperCase(Locale.ROOT) : word), false);
      return;
    }
    int precision = d.precision < 0 ? 6 : d.precision;
    var prefix = sign;
    String text;
    switch (Character.toLowerCase(d.type)) {
      case 'f' -> text = fixed(size, precision, d.alternate);
      case 'e' -> text = scientific(size, precision, d.alternate);
      case 'g' -> text = general(size, Math.max(1, precision), d.alternate);
      default -> {
        prefix += "0x";
        text = hexadecimal(size, d.precision, d.alternate);
      }
    }
    pad(
        d,
        upper ? prefix.toUpperCase(Locale.ROOT) : prefix,
        ascii(upper ? text.toUpperCase(Locale.ROOT) : text),
        true);
  }

  private static String fixed(double size, int precision, boolean point) {
    var text = new BigDecimal(size).setScale(precision, RoundingMode.HALF_EVEN).toPlainString();
    return precision == 0 && point ? text + "." : text;
  }

  private static String scientific(double size, int precision, boolean point) {
    var rounded = rounded(size, precision + 1);
    var digits = rounded.unscaledValue().toString();
    digits += "0".repeat(precision + 1 - digits.length());
    int exponent = size == 0 ? 0 : exponent(rounded);
    return "%s%s%se%s%02d"
        .formatted(
            digits.charAt(0),
            precision > 0 || point ? "." : "",
            digits.substring(1),
            exponent < 0 ? "-" : "+",
            Math.abs(exponent));
  }

  private static BigDecimal rounded(double size, int digits) {
    return new BigDecimal(size).round(new MathContext(digits, RoundingMode.HALF_EVEN));
  }

  /** Returns the decimal exponent of the first digit. */
  private static int exponent(BigDecimal number) {
    return number.precision() - number.scale() - 1;
  }

  private static String general(double size, int precision, boolean alternate) {
    int exponent = size == 0 ? 0 : exponent(rounded(size, precision));
    boolean small = exponent < -4 || exponent >= precision;
    var text =
        small
            ? scientific(size, precision - 1, alternate)
            : fixed(size, precision - 1 - exponent, alternate);
    if (alternate) {
      return text;
    }
    int end = small ? text.indexOf('e') : text.length();
    var digits = text.substring(0, end);
    if (digits.contains(".")) {
      digits = digits.replaceFirst("\\.?0*$", "");
    }
    return digits + text.substring(end);
  }

  /** Returns the digits of a hexadecimal float after {@code 0x}, as glibc writes them. */
  private static String hexadecimal(double size, int precision, boolean point) {
    long bits = Double.doubleToRawLongBits(size);
    long fraction = bits & ((1L << 52) - 1);
    int biased = (int) (bits >>> 52);
    int exponent = size == 0 ? 0 : Math.max(1, biased) - 1023;
    long number = fraction | (biased == 0 ? 0 : 1L << 52);
    if (precision >= 0 && precision < 13) {
      int cut = 4 * (13 - precision);
      long half = 1L << (cut - 1);
      long rest = number & ((1L << cut) - 1);
      number >>>= cut;
      number += rest > half || (rest == half && (number & 1) != 0) ? 1 : 0;
      number <<= cut;
    }
    var digits = "%013x".formatted(number & ((1L << 52) - 1));
    if (precision < 0) {
      digits = digits.replaceFirst("0+$", "");
    } else if (precision <= 13) {
      digits = digits.substring(0, precision);
    } else {
      digits += "0".repeat(precision - 13);
    }
    return "%d%s%sp%s%d"
        .formatted(
            number >>> 52,
            digits.isEmpty() && !point ? "" : ".",
            digits,
            exponent < 0 ? "-" : "+",
            Math.abs(exponent));
  }
}
