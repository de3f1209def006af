package dev.athanor.service.codec;

import static dev.athanor.service.codec.Tensors.excerpt;
import static dev.athanor.service.codec.Tensors.invalid;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.util.ByteBufferBackedInputStream;

/** The numbers of a tensor in JSON, flat or nested, on their way into its bytes. */
public final class JsonElements {

  private final JsonParser parser;
  private final String tensor;
  private final String field;
  private final DecodeBudget room;

  private @Nullable Elements elements;
  private @Nullable MemorySegment deferred;

  private JsonElements(JsonParser parser, String tensor, DecodeBudget room) {
    this.parser = parser;
    this.tensor = tensor;
    field = tensor.isEmpty() ? "data" : tensor + ".data";
    this.room = room;
  }

  /**
   * Reads the member {@code data} of a tensor.
   *
   * @param parser at its value
   * @param tensor where the tensor stands in the request, for errors; may be empty
   * @param dtype of the tensor; null while it is not known, which takes memory
   * @throws Failure.Refused with {@code invalid-tensor} when there are no numbers that fit
   */
  public static JsonElements read(
      JsonParser parser, String tensor, @Nullable DType dtype, DecodeBudget room) {
    var data = new JsonElements(parser, tensor, room);
    data.read(dtype);
    return data;
  }

  private void read(@Nullable DType dtype) {
    if (parser.currentToken() != JsonToken.START_ARRAY
        && (parser.currentToken().isStructStart()
            || parser.currentToken() == JsonToken.VALUE_NULL)) {
      throw invalid(
          field,
          "%s must be a list of numbers, got %s"
              .formatted(field, Json.name(parser.currentToken())));
    }
    if (dtype != null && !dtype.isBlock()) {
      elements = new Elements(parser, dtype);
      elements.read();
    } else {
      deferred = copy();
    }
  }

  /**
   * The tensor that has these numbers.
   *
   * @throws Failure.Refused with {@code invalid-tensor} when their count or nesting is not that of
   *     the shape, or one of them does not fit
   */
  public HostTensor toTensor(TensorType type) {
    if (type.dtype().isBlock()) {
      throw invalid(
          field,
          "%s is stored in blocks, which no list of numbers can say; send its bytes as base64"
              .formatted(type.dtype().text()));
    }
    if (deferred != null) {
      elements = replay(deferred, type.dtype());
      room.memory().giveBack(deferred);
      deferred = null;
    }
    var read = Objects.requireNonNull(elements);
    if (read.count() != type.shape().elements()) {
      throw invalid(
          field,
          "%s takes %d numbers, got %d".formatted(type, type.shape().elements(), read.count()));
    }
    read.checkNesting(type);
    return new HostTensor(type, read.sink.toSegment());
  }

  /** Keeps the text of data whose dtype comes after it: what a number means is not known yet. */
  private MemorySegment copy() {
    var text = new ByteSink(new DecodeBudget(room.memory(), Integer.MAX_VALUE), this::tooLarge);
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
    return text.toSegment();
  }

  private Elements replay(MemorySegment text, DType dtype) {
    try (var again = Json.parse(new ByteBufferBackedInputStream(text.asByteBuffer()))) {
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
      sink = new ByteSink(room, JsonElements.this::tooLarge);
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
            if (leafDepth == depth) {
              plain();
            }
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
            if (depth > 0) {
              plain();
            }
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
          "%s is ragged: its lists of depth %d have different lengths".formatted(field, at + 1));
    }

    /** Nested lists must have the shape; a flat list may stand for any. */
    void checkNesting(TensorType of) {
      var given = new ArrayList<Long>();
      for (int d = 0; d < Math.max(leafDepth, 0); d++) {
        given.add(extents[d]);
      }
      if (given.size() > 1 && !given.equals(of.shape().extents())) {
        throw invalid(
            field, "%s is nested as %s, but the shape is %s".formatted(field, given, of.shape()));
      }
      if (given.isEmpty() && of.shape().rank() > 0) {
        throw invalid(field, "%s must be a list of numbers".formatted(field));
      }
    }

    /** The path of the element that is being read. */
    private String here() {
      var text = new StringBuilder(field);
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

    /** The numbers that follow, as far as they take no tokens. */
    private void plain() {
      if (in instanceof NumberParser numbers) {
        index[depth - 1] += numbers.plainNumbers(type == DType.F32 ? this::takeFloat : this::take);
      }
    }

    private boolean takeFloat(boolean negative, long digits, int exponent, boolean whole) {
      float value = Decimals.toFloat(digits, exponent);
      if (Float.isNaN(value)) {
        return false;
      }
      sink.putFloat(negative ? -value : value);
      return true;
    }

    /** Takes a number that fits. */
    private boolean take(boolean negative, long digits, int exponent, boolean whole) {
      try {
        if (type.isFloat()) {
          double value = Decimals.toDouble(digits, exponent);
          if (Double.isNaN(value)) {
            return false;
          }
          type.write(sink.room(type), count(), negative ? -value : value);
        } else if (whole && digits >= 0) {
          type.writeLong(sink.room(type), count(), negative ? -digits : digits);
        } else {
          return false;
        }
      } catch (IllegalArgumentException e) {
        return false;
      }
      sink.advance(type);
      return true;
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
      room.set(ByteSink.FLOAT, at * Float.BYTES, value);
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
    return invalid(field, "%s is nested deeper than %d lists".formatted(field, Tensors.MAX_RANK));
  }

  private void tooLarge() {
    throw Tensors.tooLarge(tensor, room.limit());
  }
}
