package dev.athanor.engine.lift.intrinsic;

import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.ptx.meaning.PrintFormat;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IllegalFormatException;
import java.util.Iterator;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A format of {@code Gpu.print}, for C's {@code printf}. It is one of {@link java.util.Formatter}
 * with the conversions that both languages have.
 *
 * @param text the format in C
 * @param values how the values are passed
 */
public record JavaFormat(String text, List<Passed> values) {

  /**
   * A value that is passed: a float as a double, others as an int or long.
   *
   * @param mask the bits of an int that are passed
   */
  public record Passed(Element type, int mask) {}

  private static final Pattern DIRECTIVE = Pattern.compile("%([-#+ 0,(<$.\\d]*)([a-zA-Z%])?");
  private static final Pattern FLAGS = Pattern.compile("[-#+ 0]*\\d{0,3}(\\.\\d{1,3})?");
  private static final String CONVERSIONS = "doxXceEfgGaA";

  public JavaFormat {
    values = List.copyOf(values);
  }

  /**
   * Translates a format.
   *
   * @param types of the values; primitive types for numbers
   * @throws IllegalArgumentException if it does not fit the values, with the reason
   */
  public static JavaFormat of(String format, List<Class<?>> types) {
    if (format.indexOf(0) >= 0) {
      throw new IllegalArgumentException("it has the character 0, which ends a string in C");
    }
    var text = new StringBuilder();
    var values = new ArrayList<Passed>();
    var directive = DIRECTIVE.matcher(format);
    while (directive.find()) {
      var all = directive.group();
      if (all.equals("%%") || all.equals("%n")) {
        directive.appendReplacement(text, all.equals("%n") ? "\n" : "%%");
        continue;
      }
      var flags = directive.group(1);
      var conversion = directive.group(2);
      if (conversion == null
          || !CONVERSIONS.contains(conversion)
          || !FLAGS.matcher(flags).matches()) {
        throw new IllegalArgumentException("`%s` is not supported".formatted(all));
      }
      if (values.size() == types.size()) {
        throw new IllegalArgumentException("`%s` has no value".formatted(all));
      }
      var value = passed(all, conversion, types.get(values.size()));
      values.add(value);
      var size = value.type == Element.LONG ? "ll" : "";
      directive.appendReplacement(text, "%" + flags + size + conversion);
    }
    directive.appendTail(text);
    if (values.size() != types.size()) {
      throw new IllegalArgumentException(
          "it has %d conversion%s for %d values"
              .formatted(values.size(), values.size() == 1 ? "" : "s", types.size()));
    }
    if (values.size() > PrintFormat.MAX_ARGUMENTS) {
      throw new IllegalArgumentException(
          "it has %d conversions, and the maximum is %d"
              .formatted(values.size(), PrintFormat.MAX_ARGUMENTS));
    }
    return new JavaFormat(text.toString(), values);
  }

  private static Passed passed(String directive, String conversion, Class<?> type) {
    var element = Element.of(type);
    if (element.isEmpty() || !accepts(directive, element.get())) {
      throw new IllegalArgumentException(
          "`%s` does not format %s"
              .formatted(
                  directive, type == Void.class ? "null" : "the type " + type.getSimpleName()));
    }
    boolean isUnsigned = "oxX".contains(conversion);
    int mask =
        switch (element.get()) {
          case BYTE -> isUnsigned ? 0xFF : -1;
          case SHORT -> isUnsigned ? 0xFFFF : -1;
          default -> -1;
        };
    return new Passed(element.get(), mask);
  }

  /** Returns whether Java formats a type so. */
  private static boolean accepts(String directive, Element type) {
    Object zero =
        switch (type) {
          case BOOLEAN -> false;
          case BYTE -> (byte) 0;
          case SHORT -> (short) 0;
          case CHAR -> '0';
          case INT -> 0;
          case LONG -> 0L;
          case FLOAT -> 0f;
          case DOUBLE -> 0d;
        };
    try {
      return !directive.formatted(zero).isEmpty();
    } catch (IllegalFormatException e) {
      return false;
    }
  }

  /** Returns the format as a string of C. */
  public byte[] zeroTerminated() {
    return (text + '\0').getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Returns the text that {@code printf} writes on a device.
   *
   * @throws IllegalArgumentException if the format does not fit the values
   */
  public static String print(String format, @Nullable Object... values) {
    var types = Arrays.stream(values).<Class<?>>map(JavaFormat::typeOf).toList();
    var translated = JavaFormat.of(format, types);
    var bits = new ArrayList<Long>();
    for (int i = 0; i < values.length; i++) {
      bits.add(bits(values[i], translated.values.get(i)));
    }
    var printed =
        PrintFormat.format(
            translated.text.getBytes(StandardCharsets.UTF_8), new Bits(bits.iterator()));
    return new String(printed.text(), StandardCharsets.UTF_8);
  }

  private static Class<?> typeOf(@Nullable Object value) {
    return value == null
        ? Void.class
        : MethodType.methodType(value.getClass()).unwrap().returnType();
  }

  private static long bits(@Nullable Object value, Passed passed) {
    return switch (value) {
      case Float n -> Double.doubleToLongBits(n);
      case Double n -> Double.doubleToLongBits(n);
      case Character c -> c;
      case Long n -> n;
      case Number n -> n.intValue() & passed.mask;
      case null, default -> throw new IllegalStateException("no conversion formats " + value);
    };
  }

  /** The values of a call, which has no strings. */
  private record Bits(Iterator<Long> values) implements PrintFormat.Arguments {
    @Override
    public int next32() {
      return values.next().intValue();
    }

    @Override
    public long next64() {
      return values.next();
    }

    @Override
    public byte[] string(long address, int most) {
      throw new IllegalStateException("no conversion takes a string");
    }
  }
}
