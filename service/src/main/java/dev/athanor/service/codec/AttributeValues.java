package dev.athanor.service.codec;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/** Reads the values of attributes from JSON, and limits their sizes. */
public final class AttributeValues {

  /** Maximum number of elements of a list. */
  public static final int MAX_ELEMENTS = 4096;

  /** Maximum number of characters of a text. */
  public static final int MAX_CHARACTERS = 65_536;

  private AttributeValues() {}

  /**
   * Reads a boolean, a number, a string or a list of numbers.
   *
   * @param path its path in the request
   * @throws Failure.Refused with {@code invalid-attribute} for any other value
   */
  public static Object read(JsonParser parser, String path) {
    return switch (parser.currentToken()) {
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_STRING -> parser.getString();
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> number(parser, path);
      case START_ARRAY -> numbers(parser, path);
      default ->
          throw invalid(
              path,
              "%s must be true, false, a number, a string or a list of numbers, got %s"
                  .formatted(path, Json.name(parser.currentToken())));
    };
  }

  private static List<Number> numbers(JsonParser parser, String path) {
    var numbers = new ArrayList<Number>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      if (numbers.size() == MAX_ELEMENTS) {
        throw invalid(
            path, "%s has more than %d elements, which is the limit".formatted(path, MAX_ELEMENTS));
      }
      numbers.add(number(parser, "%s[%d]".formatted(path, numbers.size())));
    }
    return numbers;
  }

  private static Number number(JsonParser parser, String path) {
    return switch (parser.currentToken()) {
      case VALUE_NUMBER_INT -> parser.getNumberValue();
      case VALUE_NUMBER_FLOAT -> parser.getDoubleValue();
      default ->
          throw invalid(path, "%s must be a number, got %s".formatted(path, Json.excerpt(parser)));
    };
  }

  /**
   * Checks the sizes of lists and texts.
   *
   * @param at the path of the attributes in the request, with a trailing dot
   * @throws Failure.Refused with {@code invalid-attribute} for one that is too long
   */
  public static void checkSizes(Map<String, ?> attributes, String at) {
    attributes.forEach((name, value) -> {
      switch (value) {
        case String text -> check(at + name, text.length(), MAX_CHARACTERS, "characters");
        case List<?> list -> check(at + name, list.size(), MAX_ELEMENTS, "elements");
        default -> {}
      }
    });
  }

  private static void check(String path, int size, int limit, String unit) {
    if (size > limit) {
      throw invalid(path, "%s has %d %s; the limit is %d".formatted(path, size, unit, limit));
    }
  }

  private static Failure invalid(String path, String message) {
    return new Failure.Refused(Code.INVALID_ATTRIBUTE, path, message);
  }
}
