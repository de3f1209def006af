package dev.athanor.service.codec;

import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Collection;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonEncoding;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.json.JsonMapper;

/** Strict streaming JSON: duplicate keys, unknown keys and trailing text are errors. */
public final class Json {

  static final int MAX_DEPTH = 64;
  static final int MAX_NAME_LENGTH = 256;

  private static final JsonFactory FACTORY =
      new NumberParser.Factory(
          JsonFactory.builder()
              .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
              .streamReadConstraints(
                  StreamReadConstraints.builder()
                      .maxNestingDepth(MAX_DEPTH)
                      .maxNameLength(MAX_NAME_LENGTH)
                      .build()));

  private static final JsonMapper RECORDS =
      JsonMapper.builder().disable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY).build();

  private static final TypeReference<Map<String, Object>> MEMBERS = new TypeReference<>() {};

  private Json() {}

  /** Writes a record, in the order of its components. */
  public static void writeValue(OutputStream out, Object value) {
    RECORDS.writeValue(out, value);
  }

  /**
   * Reads a body that is one JSON object.
   *
   * @param reader receives the parser at the start of the object and leaves it at the end
   * @throws Failure with {@code malformed-body} if the text is not JSON in UTF-8
   */
  public static <T> T read(InputStream in, Function<JsonParser, T> reader) throws IOException {
    return read(in, "the body", reader);
  }

  /** Reads a part of a body that is one JSON object; {@code what} names it in errors. */
  static <T> T read(InputStream in, String what, Function<JsonParser, T> reader)
      throws IOException {
    try (var parser = FACTORY.createParser(ObjectReadContext.empty(), new Utf8Input(in, what))) {
      var first = parser.nextToken();
      if (first == null) {
        throw malformed(what + " is empty; it must be a JSON object");
      }
      if (first != JsonToken.START_OBJECT) {
        throw malformed(what + " must be a JSON object, got " + name(first));
      }
      var result = reader.apply(parser);
      if (parser.nextToken() != null) {
        throw malformed("unexpected text after the end of the JSON object");
      }
      return result;
    } catch (JacksonIOException e) {
      throw e.getCause();
    } catch (JacksonException e) {
      var at = e.getLocation();
      var where =
          at == null ? "" : " at line %d, column %d".formatted(at.getLineNr(), at.getColumnNr());
      throw malformed(what + " is not valid JSON" + where + ": " + JsonSyntax.describe(e));
    }
  }

  /**
   * Returns the members of one JSON object, as maps, lists, strings, numbers and Booleans.
   *
   * @param what names the text in errors
   * @throws Failure with {@code malformed-body} if the text is not JSON in UTF-8
   */
  public static Map<String, Object> members(InputStream in, String what) throws IOException {
    return read(in, what, parser -> RECORDS.readValue(parser, MEMBERS));
  }

  /** Returns a parser for text that was validated before. */
  static JsonParser parse(InputStream in) {
    return FACTORY.createParser(ObjectReadContext.empty(), in);
  }

  /** Returns a generator; closing it closes the stream. */
  public static JsonGenerator write(OutputStream out) {
    return FACTORY.createGenerator(ObjectWriteContext.empty(), out, JsonEncoding.UTF8);
  }

  /** Reads a string. */
  public static String string(JsonParser parser, String field, Code code) {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw new Failure.Refused(
          code, field, "%s must be a string, got %s".formatted(field, name(parser.currentToken())));
    }
    return parser.getString();
  }

  /** Reads a Boolean. */
  public static boolean flag(JsonParser parser, String field, Code code) {
    return switch (parser.currentToken()) {
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      default ->
          throw new Failure.Refused(
              code,
              field,
              "%s must be true or false, got %s".formatted(field, name(parser.currentToken())));
    };
  }

  /** Fails unless the parser is at the start of an object. */
  public static void expectObject(JsonParser parser, String field, Code code) {
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      throw new Failure.Refused(
          code,
          field,
          "%s must be an object, got %s".formatted(field, name(parser.currentToken())));
    }
  }

  /** Reads an object and calls {@code member} with each key, with the parser at its value. */
  public static void members(JsonParser parser, String path, Code code, Consumer<String> member) {
    expectObject(parser, path, code);
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var name = parser.currentName();
      parser.nextToken();
      member.accept(name);
    }
  }

  /** Returns the failure for an unknown key. */
  public static Failure unknown(String path, String key, Collection<String> known) {
    var field = path.isEmpty() ? Tensors.excerpt(key) : path + "." + Tensors.excerpt(key);
    return new Failure.Refused(
        Code.UNKNOWN_FIELD,
        field,
        "%s is unknown; %s"
            .formatted(
                field,
                known.isEmpty()
                    ? "no keys are allowed here"
                    : "known keys are " + String.join(", ", known)));
  }

  static Failure malformed(String message) {
    return new Failure.Refused(Code.MALFORMED_BODY, message);
  }

  /** Returns the current value for error messages, as the client wrote it; strings in quotes. */
  public static String excerpt(JsonParser parser) {
    return switch (parser.currentToken()) {
      case VALUE_STRING -> "\"%s\"".formatted(Tensors.excerpt(parser.getString()));
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> Tensors.excerpt(parser.getString());
      default -> name(parser.currentToken());
    };
  }

  /** Returns the name of a token for error messages. */
  public static String name(JsonToken token) {
    return switch (token) {
      case START_OBJECT, END_OBJECT -> "an object";
      case START_ARRAY, END_ARRAY -> "a list";
      case VALUE_STRING -> "a string";
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
      case VALUE_TRUE -> "true";
      case VALUE_FALSE -> "false";
      case VALUE_NULL -> "null";
      default -> "something else";
    };
  }
}
