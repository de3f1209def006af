package dev.athanor.ops;

import dev.athanor.ops.OpDescription.Attribute;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The attributes of a call, checked against the op's description and completed with its defaults.
 */
public record Attributes(Map<String, Object> values) {

  /** Decimal numbers, as in JSON; {@code Double.parseDouble} also accepts 0x1p3, 1d and blanks. */
  private static final Pattern DECIMAL =
      Pattern.compile("-?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?");

  public Attributes {
    values = Map.copyOf(values);
  }

  /**
   * Parses the attributes of a call.
   *
   * @param given JSON booleans, numbers and strings; strings are also parsed as booleans and
   *     numbers because query parameters and the command line are strings
   * @throws OpException.UnknownField for a name that the op does not have
   * @throws OpException.InvalidAttribute for a value that the attribute does not accept
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
    var values = new HashMap<String, Object>();
    for (var attribute : op.attributes()) {
      if (given.containsKey(attribute.name())) {
        values.put(attribute.name(), read(attribute, given.get(attribute.name())));
      } else if (!attribute.defaultValue().isEmpty()) {
        values.put(attribute.name(), read(attribute, attribute.defaultValue()));
      }
    }
    return new Attributes(values);
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
      case INTEGER -> {
        double number = bounded(attribute, value, number(attribute, value, text, "an integer"));
        if (number != Math.rint(number) || Math.abs(number) > 0x1p53) {
          throw invalid(attribute, value, "an integer");
        }
        yield number;
      }
      case NUMBER -> bounded(attribute, value, number(attribute, value, text, "a finite number"));
    };
  }

  private static double bounded(Attribute attribute, Object value, double number) {
    if (number < attribute.least() || number > attribute.greatest()) {
      throw invalid(attribute, value, attribute.bounds());
    }
    return number;
  }

  private static double number(Attribute attribute, Object value, String text, String right) {
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
                attribute.name(), right, value instanceof String s ? "\"" + s + "\"" : value));
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

  /** Returns the value of a choice; empty if it was omitted and has no default. */
  public String choice(String name) {
    return (String) values.getOrDefault(name, "");
  }

  private Object value(String name) {
    var value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException("no attribute " + name + " among " + values.keySet());
    }
    return value;
  }
}
