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

/** Reads the numbers of a tensor in JSON, flat or nested, directly into its bytes. */
public final class JsonElements {

  private final JsonParser parser;
  private final String tensor;
  private final String field;
  private final DecodeBudget budget;

  private @Nullable Elements elements;
  private @Nullable MemorySegment deferred;

  private JsonElements(JsonParser parser, String tensor, DecodeBudget budget) {
    this.parser = parser;
    this.tensor = tensor;
    field = tensor.isEmpty() ? "data" : tensor + ".data";
    this.budget = budget;
  }

  /**
   * Reads the member {@code data} of a tensor.
   *
   * @param parser at its value
   * @param tensor the path of the tensor in the request, for errors; may be empty
   * @param dtype the dtype; null if not known yet, in which case the text is buffered
   * @throws Failure.Refused with {@code invalid-tensor} if the numbers are invalid for the dtype
   */
  public static JsonElements read(
      JsonParser parser, String tensor, @Nullable DType dtype, DecodeBudget budget) {
    var data = new JsonElements(parser, tensor, budget);
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
   * Returns the tensor with these numbers.
   *
   * @throws Failure.Refused with {@code invalid-tensor} if count or nesting does not match the
   *     shape, or a number is out of range
   */
  public HostTensor toTensor(TensorType type) {
    if (type.dtype().isBlock()) {
      throw invalid(
          field,
          "%s is a block format and cannot be sent as numbers; send its bytes as base64"
              .formatted(type.dtype().text()));
    }
    if (deferred != null) {
      elements = replay(deferred, type.dtype());
      budget.memory().release(deferred);
      deferred = null;
    }
    var read = Objects.requireNonNull(elements);
    if (read.count() != type.shape().elements()) {
      throw invalid(
          field,
          "%s needs %d numbers, got %d".formatted(type, type.shape().elements(), read.count()));
    }
    read.checkNesting(type);
    return new HostTensor(type, read.sink.toSegment());
  }

  /** Buffers the text of data that precedes its dtype. */
  private MemorySegment copy() {
    var text = new ByteSink(new DecodeBudget(budget.memory(), Integer.MAX_VALUE), this::tooLarge);
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

    /** The length of the first list at each depth; all others must have the same length. */
    private final long[] extents = new long[Tensors.MAX_RANK];

    private final long[] index = new long[Tensors.MAX_RANK];
    private int depth;
    private int leafDepth = -1;

    Elements(JsonParser in, DType type) {
      this.in = in;
      this.type = type;
      sink = new ByteSink(budget, JsonElements.this::tooLarge);
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

    /**
     * Checks that nested lists match the shape; a flat list matches any shape. Empty lists have no
     * deeper extents.
     */
    void checkNesting(TensorType of) {
      var given = new ArrayList<Long>();
      for (int d = 0; d < extents.length && extents[d] >= 0; d++) {
        given.add(extents[d]);
      }
      var shape = of.shape().extents();
      boolean matches =
          of.isEmpty()
              ? given.equals(shape.subList(0, Math.min(given.size(), shape.size())))
              : given.equals(shape);
      if (given.size() > 1 && !matches) {
        throw invalid(
            field, "%s is nested as %s, but the shape is %s".formatted(field, given, of.shape()));
      }
      if (given.isEmpty() && of.shape().rank() > 0) {
        throw invalid(field, "%s must be a list of numbers".formatted(field));
      }
    }

    /** Returns the path of the current element. */
    private String here() {
      var text = new StringBuilder(field);
      for (int d = 0; d < depth; d++) {
        text.append('[').append(index[d]).append(']');
      }
      return text.toString();
    }

    private void element(JsonToken token) {
      var target = sink.reserveElement(type);
      long at = count();
      try {
        switch (token) {
          case VALUE_NUMBER_INT -> integer(target, at);
          case VALUE_NUMBER_FLOAT -> fraction(target, at);
          case VALUE_STRING -> special(target, at, in.getString());
          case VALUE_TRUE, VALUE_FALSE -> {
            if (type != DType.BOOL) {
              throw unfit(Json.name(token));
            }
            type.writeLong(target, at, token == JsonToken.VALUE_TRUE ? 1 : 0);
          }
          default -> throw unfit(Json.name(token));
        }
      } catch (IllegalArgumentException e) {
        throw unfit(excerpt(in.getString()));
      }
      sink.advance(type);
    }

    /** Reads subsequent numbers directly from the parser's buffer, without tokens. */
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

    /** Appends a number if it is in range. */
    private boolean take(boolean negative, long digits, int exponent, boolean whole) {
      try {
        if (type.isFloat()) {
          double value = Decimals.toDouble(digits, exponent);
          if (Double.isNaN(value)) {
            return false;
          }
          type.write(sink.reserveElement(type), count(), negative ? -value : value);
        } else if (whole && digits >= 0) {
          type.writeLong(sink.reserveElement(type), count(), negative ? -digits : digits);
        } else {
          return false;
        }
      } catch (IllegalArgumentException e) {
        return false;
      }
      sink.advance(type);
      return true;
    }

    private void integer(MemorySegment target, long at) {
      if (in.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
        if (!type.isFloat()) {
          throw unfit(excerpt(in.getString()));
        }
        fraction(target, at);
        return;
      }
      long value = in.getLongValue();
      if (type == DType.F32) {
        setFloat(target, at, value == 0 && in.getString().startsWith("-") ? -0.0f : (float) value);
      } else if (value == 0 && type.isFloat() && in.getString().startsWith("-")) {
        type.write(target, at, -0.0);
      } else {
        type.writeLong(target, at, value);
      }
    }

    private void fraction(MemorySegment target, long at) {
      // parse f32 directly, since going through double would round twice
      double value = type == DType.F32 ? in.getFloatValue() : in.getDoubleValue();
      if (Double.isInfinite(value)) {
        throw unfit(excerpt(in.getString()));
      }
      type.write(target, at, value);
    }

    private static void setFloat(MemorySegment target, long at, float value) {
      target.set(ByteSink.FLOAT, at * Float.BYTES, value);
    }

    private void special(MemorySegment target, long at, String text) {
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
      type.write(target, at, value);
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
    throw Tensors.tooLarge(tensor, budget.limit());
  }
}
