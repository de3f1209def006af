package dev.athanor.ops;

import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.ops.OpDescription.Condition;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The attributes of a call, checked against the op's description and completed with its defaults.
 */
public record Attributes(Map<String, Object> values) {

  /** Decimal numbers, as in JSON; {@code Double.parseDouble} also accepts 0x1p3, 1d and blanks. */
  private static final Pattern DECIMAL =
      Pattern.compile("-?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?");

  /** Maximum length of a value in a message. */
  private static final int MAX_QUOTED = 60;

  public Attributes {
    values = Map.copyOf(values);
  }

  /**
   * Parses the attributes of a call.
   *
   * @param given JSON booleans, numbers, strings and lists; strings are also parsed as booleans,
   *     numbers and lists because query parameters and the command line are strings
   * @throws OpException.UnknownField for a name that the op does not have
   * @throws OpException.InvalidAttribute for a value that the attribute does not accept, or if a
   *     required attribute is missing
   */
  public static Attributes of(OpDescription op, Map<String, ?> given) {
    for (var name : given.keySet()) {
      if (op.attribute(name).isEmpty()) {
        throw new OpException.UnknownField(
            "attributes." + name,
            "%s has no attribute \"%s\"; its attributes are %s"
                .formatted(
                    op.name(),
                    name,
                    op.attributes().stream()
                        .map(Attribute::name)
                        .collect(Collectors.joining(", "))));
      }
    }
    var values = defaults(op);
    for (var attribute : op.attributes()) {
      if (given.containsKey(attribute.name())) {
        values.put(attribute.name(), read(attribute, given.get(attribute.name())));
      }
    }
    for (var attribute : op.attributes()) {
      if (attribute.required() && !values.containsKey(attribute.name())) {
        throw new OpException.InvalidAttribute(
            attribute.name(),
            "attribute \"%s\" is missing; %s requires it: %s"
                .formatted(attribute.name(), op.name(), attribute.meaning()));
      }
    }
    return new Attributes(values);
  }

  /** Returns the values of the attributes that have a default. */
  public static Map<String, Object> defaults(OpDescription op) {
    var values = new HashMap<String, Object>();
    for (var attribute : op.attributes()) {
      if (!attribute.defaultValue().isEmpty()) {
        values.put(attribute.name(), read(attribute, attribute.defaultValue()));
      }
    }
    return values;
  }

  private static Object read(Attribute attribute, Object value) {
    var text = String.valueOf(value);
    return switch (attribute.type()) {
      case BOOLEAN ->
          switch (text) {
            case "true" -> true;
            case "false" -> false;
            default -> throw invalid(attribute, value, "true or false");
          };
      case CHOICE -> {
        if (!attribute.choices().contains(text)) {
          throw invalid(attribute, value, "one of " + String.join(", ", attribute.choices()));
        }
        yield text;
      }
      case INTEGER -> (double) integer(attribute, value, value);
      case NUMBER -> number(attribute, value, value);
      case INTEGERS -> elements(value).map(element -> integer(attribute, element, value)).toList();
      case NUMBERS -> elements(value).map(element -> number(attribute, element, value)).toList();
      case TEXT -> {
        if (!(value instanceof String)) {
          throw invalid(attribute, value, "a text");
        }
        yield text;
      }
    };
  }

  /** Returns the elements of a JSON array or of text such as {@code 0,2}; a number is a list. */
  private static Stream<?> elements(Object value) {
    return value instanceof List<?> list
        ? list.stream()
        : value.equals("")
            ? Stream.of()
            : Stream.of(value.toString().split(",", -1)).map(String::strip);
  }

  private static long integer(Attribute attribute, @Nullable Object element, Object value) {
    var right = isList(attribute) ? "integers such as 0,2" : "an integer";
    double number = bounded(attribute, value, parse(attribute, element, value, right));
    if (number != Math.rint(number) || Math.abs(number) > 0x1p53) {
      throw invalid(attribute, value, right);
    }
    return (long) number;
  }

  private static double number(Attribute attribute, @Nullable Object element, Object value) {
    var right = isList(attribute) ? "finite numbers such as 0.5,2" : "a finite number";
    return bounded(attribute, value, parse(attribute, element, value, right));
  }

  private static boolean isList(Attribute attribute) {
    return attribute.type() == AttributeType.INTEGERS || attribute.type() == AttributeType.NUMBERS;
  }

  private static double bounded(Attribute attribute, Object value, double number) {
    if (number < attribute.least() || number > attribute.greatest()) {
      throw invalid(attribute, value, attribute.bounds());
    }
    return number;
  }

  private static double parse(
      Attribute attribute, @Nullable Object element, Object value, String right) {
    var text = String.valueOf(element);
    double number = DECIMAL.matcher(text).matches() ? Double.parseDouble(text) : Double.NaN;
    if (Double.isFinite(number)) {
      return number;
    }
    throw invalid(attribute, value, right);
  }

  private static OpException invalid(Attribute attribute, Object value, String right) {
    return new OpException.InvalidAttribute(
        attribute.name(),
        "attribute \"%s\" must be %s, got %s"
            .formatted(
                attribute.name(),
                right,
                excerpt(value instanceof String s ? "\"" + s + "\"" : value.toString())));
  }

  /** Returns a text that a message can quote. */
  private static String excerpt(String text) {
    return text.length() > MAX_QUOTED ? text.substring(0, MAX_QUOTED) + "…" : text;
  }

  /** Returns the value of a boolean attribute. */
  public boolean flag(String name) {
    return (boolean) value(name);
  }

  /** Returns the value of a number attribute. */
  public double number(String name) {
    return (double) value(name);
  }

  /** Returns the value of an integer attribute. */
  public long integer(String name) {
    return (long) number(name);
  }

  /** Returns whether an attribute has a given or a default value. */
  public boolean has(String name) {
    return values.containsKey(name);
  }

  /** Returns whether an attribute has the value of a condition. */
  public boolean satisfies(Condition condition) {
    var value = values.get(condition.attribute());
    return value != null && condition.value().equals(text(value));
  }

  /** Returns the value of a choice; empty if it was omitted and has no default. */
  public String choice(String name) {
    return (String) values.getOrDefault(name, "");
  }

  /** Returns a list of integers; empty if it was omitted. */
  @SuppressWarnings("unchecked") // only read() makes values
  public List<Long> integers(String name) {
    return (List<Long>) values.getOrDefault(name, List.of());
  }

  /** Returns a list of numbers; empty if it was omitted. */
  @SuppressWarnings("unchecked") // only read() makes values
  public List<Double> numbers(String name) {
    return (List<Double>) values.getOrDefault(name, List.of());
  }

  /** Returns a text; empty if it was omitted. */
  public String text(String name) {
    return (String) values.getOrDefault(name, "");
  }

  /** Returns a value as text that {@link #of} accepts: {@code 0.5}, {@code true}, {@code 0,2}. */
  public static String text(Object value) {
    return switch (value) {
      case Double number when number == Math.rint(number) && Math.abs(number) < 0x1p53 ->
          Long.toString(number.longValue());
      case List<?> list -> list.stream().map(Attributes::text).collect(Collectors.joining(","));
      default -> value.toString();
    };
  }

  private Object value(String name) {
    var value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("no attribute " + name + " among " + values.keySet());
    }
    return value;
  }
}
