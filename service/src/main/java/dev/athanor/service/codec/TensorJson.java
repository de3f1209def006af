package dev.athanor.service.codec;

import static dev.athanor.service.codec.Tensors.excerpt;
import static dev.athanor.service.codec.Tensors.invalid;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.Base64Variants;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.exc.JacksonIOException;

/**
 * Tensors in JSON: {@code {"dtype", "shape", "data" | "base64"}} or {@code {"handle", "shape",
 * "offset", "strides"}}.
 */
public final class TensorJson {

  /** A tensor in JSON: inline data or a handle. */
  public sealed interface Source {
    /** Inline data. */
    record Inline(HostTensor tensor) implements Source {}

    /**
     * A resident tensor.
     *
     * @param shape the shape to reinterpret it as; null for its own
     * @param offset the index of its first element; null if not given
     * @param strides the distance of elements along each dimension; null if not given
     */
    record Handle(
        String handle,
        @Nullable List<Long> shape,
        @Nullable Long offset,
        @Nullable List<Long> strides)
        implements Source {}
  }

  private static final List<String> KEYS =
      List.of("dtype", "shape", "data", "base64", "handle", "offset", "strides");

  private final JsonParser parser;
  private final String path;
  private final DecodeBudget budget;

  private @Nullable DType dtype;
  private @Nullable List<Long> shape;
  private @Nullable JsonElements elements;
  private @Nullable ByteSink base64;
  private @Nullable String handle;
  private @Nullable Long offset;
  private @Nullable List<Long> strides;

  private TensorJson(JsonParser parser, String path, DecodeBudget budget) {
    this.parser = parser;
    this.path = path;
    this.budget = budget;
  }

  /**
   * Reads a tensor. Numbers are converted directly into its bytes.
   *
   * @param parser at the object's start
   * @param path its path in the request, for errors; may be empty
   */
  public static Source read(JsonParser parser, String path, DecodeBudget budget) {
    return new TensorJson(parser, path, budget).read();
  }

  private Source read() {
    Json.expectObject(parser, path, Code.INVALID_TENSOR);
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var key = parser.currentName();
      parser.nextToken();
      switch (key) {
        case "dtype" ->
            dtype =
                Tensors.dtype(
                    Json.string(parser, at("dtype"), Code.UNSUPPORTED_DTYPE), at("dtype"));
        case "shape" -> shape = shape(parser, at("shape"));
        case "data" -> elements = JsonElements.read(parser, path, dtype, budget);
        case "base64" -> base64 = base64();
        case "handle" -> handle = Json.string(parser, at("handle"), Code.INVALID_TENSOR);
        case "offset" -> offset = integer(parser, at("offset"), 0);
        case "strides" -> strides = integers(parser, at("strides"), 0);
        default -> throw Json.unknown(path, key, KEYS);
      }
    }
    return finish();
  }

  private Source finish() {
    boolean hasData = elements != null;
    if (handle != null) {
      if (dtype != null || hasData || base64 != null) {
        throw invalid(
            subject(),
            "%s has a handle together with dtype or data; a handle allows only shape, offset and strides"
                .formatted(what()));
      }
      return new Source.Handle(handle, shape, offset, strides);
    }
    if (offset != null || strides != null) {
      throw invalid(
          subject(),
          "%s has %s but no handle; give the elements in order"
              .formatted(what(), offset != null ? "an offset" : "strides"));
    }
    if (hasData == (base64 != null)) {
      throw invalid(
          subject(),
          "%s must have data, base64 or a handle, and only one of them".formatted(what()));
    }
    if (dtype == null || shape == null) {
      throw invalid(
          at(dtype == null ? "dtype" : "shape"),
          "%s has no %s".formatted(what(), dtype == null ? "dtype" : "shape"));
    }
    var type = Tensors.type(dtype, shape, at("shape"));
    if (base64 != null) {
      return new Source.Inline(Tensors.checked(type, base64.toSegment(), at("base64")));
    }
    return new Source.Inline(Objects.requireNonNull(elements).toTensor(type));
  }

  /**
   * Reads a shape.
   *
   * @param parser at its list
   * @param field its path in the request
   * @throws Failure.Refused with {@code invalid-tensor} unless it is a list of integers
   */
  public static List<Long> shape(JsonParser parser, String field) {
    return integers(parser, field, 1);
  }

  /**
   * Reads a list with one integer for each dimension.
   *
   * @param least the least valid integer, for errors
   */
  public static List<Long> integers(JsonParser parser, String field, long least) {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw invalid(
          field,
          "%s must be a list of integers, got %s"
              .formatted(field, Json.name(parser.currentToken())));
    }
    var integers = new ArrayList<Long>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      integers.add(integer(parser, "%s[%d]".formatted(field, integers.size()), least));
      if (integers.size() > Tensors.MAX_RANK) {
        throw invalid(field, "%s has more than %d dimensions".formatted(field, Tensors.MAX_RANK));
      }
    }
    return integers;
  }

  /** Reads an integer; {@code least} is the least valid one, for errors. */
  public static long integer(JsonParser parser, String field, long least) {
    if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT
        || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
      throw invalid(
          field,
          "%s must be an integer of at least %d, got %s"
              .formatted(field, least, excerpt(parser.getString())));
    }
    return parser.getLongValue();
  }

  private ByteSink base64() {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw invalid(
          at("base64"),
          "%s must be a string, got %s".formatted(at("base64"), Json.name(parser.currentToken())));
    }
    var sink = new ByteSink(budget, this::tooLarge);
    try {
      parser.readBinaryValue(Base64Variants.MIME_NO_LINEFEEDS, sink);
    } catch (JacksonIOException e) {
      throw e;
    } catch (JacksonException e) {
      throw invalid(
          at("base64"), "%s is not valid base64 (RFC 4648, with padding)".formatted(at("base64")));
    }
    return sink;
  }

  private void tooLarge() {
    throw Tensors.tooLarge(path, budget.limit());
  }

  private String at(String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  private @Nullable String subject() {
    return path.isEmpty() ? null : path;
  }

  private String what() {
    return path.isEmpty() ? "the tensor" : path;
  }
}
