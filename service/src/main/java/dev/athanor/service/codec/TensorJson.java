package dev.athanor.service.codec;

import static dev.athanor.service.codec.Tensors.excerpt;
import static dev.athanor.service.codec.Tensors.invalid;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.Base64Variants;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.exc.JacksonIOException;

/** Tensors in JSON: {@code {"dtype", "shape", "data" | "base64"}} or {@code {"handle"}}. */
public final class TensorJson {

  /** What a JSON tensor is. */
  public sealed interface Source {
    /** The data itself. */
    record Inline(HostTensor tensor) implements Source {}

    /** A tensor that is on the device. */
    record Handle(String handle) implements Source {}
  }

  private static final List<String> KEYS = List.of("dtype", "shape", "data", "base64", "handle");

  private final JsonParser parser;
  private final String path;
  private final long limit;

  private @Nullable DType dtype;
  private @Nullable List<Long> shape;
  private @Nullable Elements elements;
  private @Nullable ByteSink base64;
  private byte @Nullable [] deferred;
  private @Nullable String handle;

  private TensorJson(JsonParser parser, String path, long limit) {
    this.parser = parser;
    this.path = path;
    this.limit = limit;
  }

  /**
   * Reads a tensor; numbers go straight into its bytes.
   *
   * @param parser at the object's start
   * @param path where it stands in the request, for errors; may be empty
   * @param limit how many bytes it may have
   */
  public static Source read(JsonParser parser, String path, long limit) {
    return new TensorJson(parser, path, limit).read();
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
        case "shape" -> shape = shape();
        case "data" -> data();
        case "base64" -> base64 = base64();
        case "handle" -> handle = Json.string(parser, at("handle"), Code.INVALID_TENSOR);
        default -> throw Json.unknown(path, key, KEYS);
      }
    }
    return finish();
  }

  private Source finish() {
    boolean hasData = elements != null || deferred != null;
    if (handle != null) {
      if (dtype != null || shape != null || hasData || base64 != null) {
        throw invalid(
            subject(), "%s has a handle and more; a handle stands alone".formatted(what()));
      }
      return new Source.Handle(handle);
    }
    if (hasData == (base64 != null)) {
      throw invalid(
          subject(), "%s must have either data or base64, or else a handle".formatted(what()));
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
    if (dtype.isBlock()) {
      throw invalid(
          at("data"),
          "%s is stored in blocks, which no list of numbers can say; send its bytes as base64"
              .formatted(dtype.text()));
    }
    if (deferred != null) {
      elements = replay(deferred, dtype);
    }
    var read = Objects.requireNonNull(elements);
    if (read.count() != type.shape().elements()) {
      throw invalid(
          at("data"),
          "%s takes %d numbers, got %d".formatted(type, type.shape().elements(), read.count()));
    }
    read.checkNesting(type);
    return new Source.Inline(new HostTensor(type, read.sink.toSegment()));
  }

  private List<Long> shape() {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw invalid(
          at("shape"),
          "%s must be a list of integers, got %s"
              .formatted(at("shape"), Json.name(parser.currentToken())));
    }
    var extents = new ArrayList<Long>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      var at = at("shape[" + extents.size() + "]");
      if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT
          || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
        throw invalid(
            at,
            "%s must be an integer of at least 1, got %s"
                .formatted(at, excerpt(parser.getString())));
      }
      extents.add(parser.getLongValue());
      if (extents.size() > Tensors.MAX_RANK) {
        throw invalid(
            at("shape"), "%s has more than %d dimensions".formatted(at("shape"), Tensors.MAX_RANK));
      }
    }
    return extents;
  }

  private ByteSink base64() {
    if (parser.currentToken() != JsonToken.VALUE_STRING) {
      throw invalid(
          at("base64"),
          "%s must be a string, got %s".formatted(at("base64"), Json.name(parser.currentToken())));
    }
    var sink = new ByteSink(0, limit, this::tooLarge);
    try {
      parser.readBinaryValue(Base64Variants.MIME_NO_LINEFEEDS, sink);
    } catch (JacksonIOException e) {
      throw e;
    } catch (JacksonException e) {
      throw invalid(
          at("base64"), "%s is no base64 (RFC 4648, with padding)".formatted(at("base64")));
    }
    return sink;
  }

  private void data() {
    if (parser.currentToken() != JsonToken.START_ARRAY
        && (parser.currentToken().isStructStart()
            || parser.currentToken() == JsonToken.VALUE_NULL)) {
      throw invalid(
          at("data"),
          "%s must be a list of numbers, got %s"
              .formatted(at("data"), Json.name(parser.currentToken())));
    }
    if (dtype != null && !dtype.isBlock()) {
      elements = new Elements(parser, dtype);
      elements.read();
    } else {
      deferred = copy();
    }
  }

  /** Keeps the text of data whose dtype comes after it: what a number means is not known yet. */
  private byte[] copy() {
    var text = new ByteArrayOutputStream();
    try (var generator = Json.write(text)) {
      int depth = 0;
      for (var token = parser.currentToken(); ; token = parser.nextToken()) {
        switch (token) {
          case START_ARRAY -> {
            generator.writeStartArray();
            if (++depth > Tensors.MAX_RANK) {
              throw tooDeep();
            }
          }
          case END_ARRAY -> {
            generator.writeEndArray();
            depth--;
          }
          case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> generator.writeNumber(parser.getString());
          case VALUE_STRING -> generator.writeString(excerpt(parser.getString()));
          case VALUE_TRUE -> generator.writeBoolean(true);
          case VALUE_FALSE -> generator.writeBoolean(false);
          case VALUE_NULL -> generator.writeNull();
          default -> generator.writeStartObject().writeEndObject();
        }
        if (token == JsonToken.START_OBJECT) {
          parser.skipChildren();
        }
        if (depth == 0) {
          break;
        }
      }
    }
    return text.toByteArray();
  }

  private Elements replay(byte[] text, DType dtype) {
    try (var again = Json.parse(new ByteArrayInputStream(text))) {
      again.nextToken();
      var result = new Elements(again, dtype);
      result.read();
      return result;
    }
  }

  /** Reads numbers, flat or nested, into bytes. */
  private final class Elements {
    private final JsonParser in;
    private final DType type;
    private final ByteSink sink;

    /** How many members the first list of each depth has; later ones must have as many. */
    private final long[] extents = new long[Tensors.MAX_RANK];

    private final long[] index = new long[Tensors.MAX_RANK];
    private int depth;
    private int leafDepth = -1;

    Elements(JsonParser in, DType type) {
      this.in = in;
      this.type = type;
      sink = new ByteSink(0, limit, TensorJson.this::tooLarge);
      Arrays.fill(extents, -1);
    }

    long count() {
      return sink.size() / type.bytes();
    }

    void read() {
      do {
        var token = in.currentToken();
        switch (token) {
          case START_ARRAY -> {
            if (depth == Tensors.MAX_RANK) {
              throw tooDeep();
            }
            index[depth++] = 0;
          }
          case END_ARRAY -> {
            depth--;
            if (extents[depth] < 0) {
              extents[depth] = index[depth];
            } else if (extents[depth] != index[depth]) {
              throw ragged(depth);
            }
            next();
          }
          default -> {
            if (leafDepth < 0) {
              leafDepth = depth;
            } else if (leafDepth != depth) {
              throw ragged(depth);
            }
            element(token);
            next();
          }
        }
        if (depth > 0) {
          in.nextToken();
        }
      } while (depth > 0);
    }

    private void next() {
      if (depth > 0) {
        index[depth - 1]++;
      }
    }

    private Failure ragged(int at) {
      return invalid(
          here(),
          "%s is ragged: its lists of depth %d have different lengths"
              .formatted(at("data"), at + 1));
    }

    /** Nested lists must have the shape; a flat list may stand for any. */
    void checkNesting(TensorType of) {
      var given = new ArrayList<Long>();
      for (int d = 0; d < Math.max(leafDepth, 0); d++) {
        given.add(extents[d]);
      }
      if (given.size() > 1 && !given.equals(of.shape().extents())) {
        throw invalid(
            at("data"),
            "%s is nested as %s, but the shape is %s".formatted(at("data"), given, of.shape()));
      }
      if (given.isEmpty() && of.shape().rank() > 0) {
        throw invalid(at("data"), "%s must be a list of numbers".formatted(at("data")));
      }
    }

    /** The path of the element that is being read. */
    private String here() {
      var text = new StringBuilder(at("data"));
      for (int d = 0; d < depth; d++) {
        text.append('[').append(index[d]).append(']');
      }
      return text.toString();
    }

    private void element(JsonToken token) {
      var room = sink.room(type);
      long at = count();
      try {
        switch (token) {
          case VALUE_NUMBER_INT -> integer(room, at);
          case VALUE_NUMBER_FLOAT -> fraction(room, at);
          case VALUE_STRING -> special(room, at, in.getString());
          case VALUE_TRUE, VALUE_FALSE -> {
            if (type != DType.BOOL) {
              throw unfit(Json.name(token));
            }
            type.writeLong(room, at, token == JsonToken.VALUE_TRUE ? 1 : 0);
          }
          default -> throw unfit(Json.name(token));
        }
      } catch (IllegalArgumentException e) {
        throw unfit(excerpt(in.getString()));
      }
      sink.advance(type);
    }

    private void integer(MemorySegment room, long at) {
      if (in.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
        if (!type.isFloat()) {
          throw unfit(excerpt(in.getString()));
        }
        fraction(room, at);
        return;
      }
      long value = in.getLongValue();
      if (type == DType.F32) {
        setFloat(room, at, value == 0 && in.getString().startsWith("-") ? -0.0f : (float) value);
      } else if (value == 0 && type.isFloat() && in.getString().startsWith("-")) {
        type.write(room, at, -0.0);
      } else {
        type.writeLong(room, at, value);
      }
    }

    private void fraction(MemorySegment room, long at) {
      // f32 is parsed as such: by way of double it would be rounded twice
      double value = type == DType.F32 ? in.getFloatValue() : in.getDoubleValue();
      if (Double.isInfinite(value)) {
        throw unfit(excerpt(in.getString()));
      }
      type.write(room, at, value);
    }

    private static void setFloat(MemorySegment room, long at, float value) {
      room.set(
          ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN),
          at * Float.BYTES,
          Float.floatToRawIntBits(value));
    }

    private void special(MemorySegment room, long at, String text) {
      double value =
          switch (text) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            default ->
                throw invalid(
                    here(),
                    "%s is \"%s\"; only \"NaN\", \"Infinity\" and \"-Infinity\" are strings"
                        .formatted(here(), excerpt(text)));
          };
      if (!type.isFloat()) {
        throw unfit("\"" + text + "\"");
      }
      type.write(room, at, value);
    }

    private Failure unfit(String value) {
      return invalid(
          here(), "%s is %s, which does not fit %s".formatted(here(), value, type.text()));
    }
  }

  private Failure tooDeep() {
    return invalid(
        at("data"), "%s is nested deeper than %d lists".formatted(at("data"), Tensors.MAX_RANK));
  }

  private void tooLarge() {
    throw new Failure.Refused(
        Code.TOO_LARGE, subject(), "%s has more than %d bytes of data".formatted(what(), limit));
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
