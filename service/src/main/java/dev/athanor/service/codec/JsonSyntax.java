package dev.athanor.service.codec;

import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.exc.UnexpectedEndOfInputException;

/**
 * Describes syntax errors for clients. The parser's messages mention its own classes and settings,
 * so they are only used to classify the error.
 */
final class JsonSyntax {

  private static final Pattern DUPLICATE = Pattern.compile("Duplicate Object property \"(.*)\"");
  private static final Pattern TOKEN =
      Pattern.compile("(?:Unrecognized|Non-standard) token '([^']*)'");
  private static final Pattern CHARACTER = Pattern.compile("\\(code (\\d{1,7})");

  private JsonSyntax() {}

  /** Describes a syntax error. */
  static String describe(JacksonException refusal) {
    var text = String.valueOf(refusal.getOriginalMessage());
    return switch (refusal) {
      case StreamConstraintsException _ -> limit(text);
      case UnexpectedEndOfInputException _ -> "the text ends too early";
      default -> syntax(text);
    };
  }

  private static String limit(String text) {
    if (text.contains("nesting depth")) {
      return "it is nested deeper than %d".formatted(Json.MAX_DEPTH);
    }
    if (text.startsWith("Name")) {
      return "a name is longer than %d characters".formatted(Json.MAX_NAME_LENGTH);
    }
    return "a number or a string is too long";
  }

  private static String syntax(String text) {
    var duplicate = DUPLICATE.matcher(text);
    if (duplicate.find()) {
      return "duplicate key \"%s\"".formatted(Tensors.excerpt(duplicate.group(1)));
    }
    var token = TOKEN.matcher(text);
    if (token.find()) {
      return token(token.group(1));
    }
    if (text.contains("Leading zeroes")) {
      return "a number must not have leading zeros";
    }
    if (text.contains("character escape")) {
      return "a string has an unknown escape";
    }
    if (text.contains("surrogate")) {
      return "a name contains an unpaired surrogate";
    }
    if (text.contains("CTRL-CHAR")) {
      return "a control character is not escaped";
    }
    var character = CHARACTER.matcher(text);
    return character.find()
        ? character(Integer.parseInt(character.group(1)))
        : "a token is malformed";
  }

  private static String token(String token) {
    return switch (token) {
      case "NaN", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "+INF" ->
          "%s is not a JSON number; write \"NaN\", \"Infinity\" or \"-Infinity\" as a string"
              .formatted(token);
      default -> "unexpected token " + Tensors.excerpt(token);
    };
  }

  private static String character(int code) {
    return switch (code) {
      case '/', '#' -> "unexpected character %c; JSON has no comments".formatted(code);
      case '\'' -> "unexpected character '; strings need double quotes";
      case '+' -> "unexpected character +; numbers must not have a plus sign";
      default -> "unexpected character " + Tensors.excerpt(Character.toString(code));
    };
  }
}
