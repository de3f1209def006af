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
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * The safetensors format: the header length in eight bytes, a JSON header with dtype, shape and
 * offsets of each tensor, and the data, little-endian and row-major, without gaps. Block formats
 * have no safetensors dtype.
 *
 * <p>{@link #open} reads and checks the header; tensors are then read in the order of their data.
 */
public final class Safetensors {

  /** Maximum size of a header in bytes. The format itself allows a hundred times that. */
  public static final int MAX_HEADER = 1 << 20;

  private static final String AFTER_THE_LAST = "unexpected bytes after the data of the last tensor";
  private static final String METADATA = "__metadata__";
  private static final List<String> KEYS = List.of("dtype", "shape", "data_offsets");
  private static final int ALIGNMENT = 8;

  private final ByteSource in;
  private final long limit;
  private final String field;
  private final Map<String, TensorType> types;

  private Safetensors(ByteSource in, long limit, String field, Map<String, TensorType> types) {
    this.in = in;
    this.limit = limit;
    this.field = field;
    this.types = Collections.unmodifiableMap(types);
  }

  // -- reading

  /**
   * Reads the header of a file.
   *
   * @param limit maximum number of bytes of data
   * @param field the path of the file in errors
   * @throws Failure with {@code invalid-tensor}, {@code unsupported-dtype}, {@code too-large} or
   *     {@code malformed-body}
   */
  public static Safetensors open(ByteSource in, long limit, String field) throws IOException {
    var start = in.readNBytes(Long.BYTES);
    if (start.length < Long.BYTES) {
      throw invalid(field, "not a safetensors file: it has fewer than 8 bytes");
    }
    long length = ByteBuffer.wrap(start).order(ByteOrder.LITTLE_ENDIAN).getLong();
    if (length < 2 || length > MAX_HEADER) {
      throw invalid(
          field,
          "the safetensors header has %s bytes; it must have 2 to %d"
              .formatted(Long.toUnsignedString(length), MAX_HEADER));
    }
    var text = in.readNBytes((int) length);
    if (text.length < length) {
      throw invalid(
          field,
          "the safetensors header has %d bytes, but the file ends after %d of them"
              .formatted(length, text.length));
    }
    if (text[0] != '{') {
      throw invalid(field, "the safetensors header must begin with {");
    }
    var entries =
        Json.read(new ByteArrayInputStream(text), "the safetensors header", p -> entries(p, field));
    return new Safetensors(in, limit, field, inOrder(entries, limit, field));
  }

  /** Returns the types of the tensors, in the order of their data. */
  public Map<String, TensorType> types() {
    return types;
  }

  /**
   * Reads the data of all tensors; the file must end after them.
   *
   * @param memory allocates the tensors
   * @throws Failure with {@code invalid-tensor}
   */
  public Map<String, HostTensor> read(HostAllocator memory) throws IOException {
    var parts = new ArrayList<Tensors.Part>();
    types.forEach((name, type) -> parts.add(new Tensors.Part(field + "." + excerpt(name), type)));
    var data = Tensors.read(parts, in, new DecodeBudget(memory, limit)).iterator();
    var tensors = new LinkedHashMap<String, HostTensor>();
    types.keySet().forEach(name -> tensors.put(name, data.next()));
    if (in.read() >= 0) {
      throw invalid(field, AFTER_THE_LAST);
    }
    return tensors;
  }

  /**
   * Returns the tensors of a file in memory, without copying their data.
   *
   * @throws Failure as {@link #open}, or with {@code invalid-tensor} if the file does not end with
   *     the data of the last tensor
   */
  public static Map<String, HostTensor> read(MemorySegment file) throws IOException {
    long begin = Math.min(file.byteSize(), Long.BYTES + MAX_HEADER);
    var header = new ByteArrayInputStream(file.asSlice(0, begin).toArray(ValueLayout.JAVA_BYTE));
    var types = open(ByteSource.of(header), Long.MAX_VALUE, "header").types;
    long at = begin - header.available();
    var tensors = new LinkedHashMap<String, HostTensor>();
    for (var each : types.entrySet()) {
      var type = each.getValue();
      long left = file.byteSize() - at;
      if (left < type.bytes()) {
        throw Tensors.truncated(each.getKey(), type, left);
      }
      tensors.put(each.getKey(), new HostTensor(type, file.asSlice(at, type.bytes())));
      at += type.bytes();
    }
    if (at < file.byteSize()) {
      throw invalid(null, AFTER_THE_LAST);
    }
    return tensors;
  }

  /**
   * Reads the header of a file with one tensor of any name.
   *
   * @throws Failure as {@link #open}, or with {@code invalid-tensor} unless the file has exactly
   *     one tensor
   */
  public static Elements openOne(ByteSource in, long limit, String field) throws IOException {
    var types = open(in, limit, field).types;
    if (types.size() != 1) {
      throw invalid(
          field,
          "the safetensors file has %d tensors; it must have exactly one here"
              .formatted(types.size()));
    }
    return Elements.of(types.values().iterator().next(), in, limit, field);
  }

  /**
   * A tensor in the header; its data are the bytes from {@code begin} (inclusive) to {@code end}
   * (exclusive).
   */
  private record Entry(String name, TensorType type, long begin, long end) {}

  private static List<Entry> entries(JsonParser parser, String field) {
    var entries = new ArrayList<Entry>();
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var name = parser.currentName();
      parser.nextToken();
      if (name.equals(METADATA)) {
        checkMetadata(parser, field + "." + METADATA);
      } else {
        entries.add(entry(parser, name, field + "." + excerpt(name)));
      }
    }
    return entries;
  }

  /** Checks that the metadata maps strings to strings; it is otherwise ignored. */
  private static void checkMetadata(JsonParser parser, String path) {
    Json.expectObject(parser, path, Code.INVALID_TENSOR);
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var at = path + "." + excerpt(parser.currentName());
      parser.nextToken();
      Json.string(parser, at, Code.INVALID_TENSOR);
    }
  }

  private static Entry entry(JsonParser parser, String name, String path) {
    Json.expectObject(parser, path, Code.INVALID_TENSOR);
    DType dtype = null;
    List<Long> shape = null;
    List<Long> offsets = null;
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      var key = parser.currentName();
      var at = path + "." + key;
      parser.nextToken();
      switch (key) {
        case "dtype" -> dtype = dtype(Json.string(parser, at, Code.UNSUPPORTED_DTYPE), at);
        case "shape" -> shape = integers(parser, at, Tensors.MAX_RANK);
        case "data_offsets" -> offsets = integers(parser, at, 2);
        default -> throw Json.unknown(path, key, KEYS);
      }
    }
    if (dtype == null || shape == null || offsets == null || offsets.size() != 2) {
      throw invalid(path, "%s must have dtype, shape and two data_offsets".formatted(path));
    }
    var type = Tensors.type(dtype, shape, path + ".shape");
    long begin = offsets.getFirst();
    long end = offsets.getLast();
    if (begin < 0 || end < begin || end - begin != type.bytes()) {
      throw invalid(
          path + ".data_offsets",
          "%s.data_offsets are %s, but %s needs %d bytes"
              .formatted(path, offsets, type, type.bytes()));
    }
    return new Entry(name, type, begin, end);
  }

  private static List<Long> integers(JsonParser parser, String path, int maxCount) {
    if (parser.currentToken() != JsonToken.START_ARRAY) {
      throw notIntegers(path, maxCount);
    }
    var values = new ArrayList<Long>();
    while (parser.nextToken() != JsonToken.END_ARRAY) {
      if (parser.currentToken() != JsonToken.VALUE_NUMBER_INT
          || parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER
          || values.size() == maxCount) {
        throw notIntegers(path, maxCount);
      }
      values.add(parser.getLongValue());
    }
    return values;
  }

  private static Failure notIntegers(String path, int maxCount) {
    return invalid(path, "%s must be a list of at most %d integers".formatted(path, maxCount));
  }

  private static Map<String, TensorType> inOrder(List<Entry> entries, long limit, String field) {
    entries.sort(Comparator.comparingLong(Entry::begin));
    var types = new LinkedHashMap<String, TensorType>();
    long at = 0;
    for (var entry : entries) {
      if (entry.begin != at) {
        throw invalid(
            field + "." + excerpt(entry.name) + ".data_offsets",
            "the data of \"%s\" begins at byte %d, but the preceding data ends at %d; gaps and overlaps are not allowed"
                .formatted(excerpt(entry.name), entry.begin, at));
      }
      at = entry.end;
      types.put(entry.name, entry.type);
    }
    if (at > limit) {
      throw new Failure.Refused(
          Code.TOO_LARGE,
          field,
          "the safetensors file has %d bytes of data; the limit is %d bytes".formatted(at, limit));
    }
    return types;
  }

  private static DType dtype(String text, String path) {
    for (var dtype : DType.values()) {
      if (text.equals(name(dtype))) {
        return dtype;
      }
    }
    var known =
        Arrays.stream(DType.values())
            .map(Safetensors::name)
            .filter(name -> name != null)
            .collect(Collectors.joining(", "));
    throw new Failure.Refused(
        Code.UNSUPPORTED_DTYPE,
        path,
        "%s is \"%s\"; supported safetensors dtypes are %s".formatted(path, excerpt(text), known));
  }

  // -- writing

  /** Returns the dtypes that the format supports. */
  public static Set<DType> dtypes() {
    return Arrays.stream(DType.values())
        .filter(dtype -> name(dtype) != null)
        .collect(Collectors.toUnmodifiableSet());
  }

  /**
   * Returns the file header. The data must follow without gaps, in the order of the map.
   *
   * @param metadata the metadata
   * @return empty if the format does not support the dtype of a tensor
   */
  public static Optional<byte[]> header(
      Map<String, TensorType> tensors, Map<String, String> metadata) {
    if (tensors.values().stream().anyMatch(type -> name(type.dtype()) == null)) {
      return Optional.empty();
    }
    var text = new ByteArrayOutputStream();
    try (var json = Json.write(text)) {
      json.writeStartObject();
      if (!metadata.isEmpty()) {
        json.writeName(METADATA);
        json.writeStartObject();
        metadata.forEach(json::writeStringProperty);
        json.writeEndObject();
      }
      long at = 0;
      for (var tensor : tensors.entrySet()) {
        var type = tensor.getValue();
        json.writeName(tensor.getKey());
        json.writeStartObject();
        json.writeStringProperty("dtype", name(type.dtype()));
        json.writeName("shape");
        json.writeStartArray();
        type.shape().extents().forEach(json::writeNumber);
        json.writeEndArray();
        json.writeName("data_offsets");
        json.writeStartArray();
        json.writeNumber(at);
        at += type.bytes();
        json.writeNumber(at);
        json.writeEndArray();
        json.writeEndObject();
      }
      json.writeEndObject();
    }
    // padded so that the data is aligned for every dtype
    int length = (text.size() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    text.writeBytes(" ".repeat(length - text.size()).getBytes(StandardCharsets.US_ASCII));
    return Optional.of(
        ByteBuffer.allocate(Long.BYTES + length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(length)
            .put(text.toByteArray())
            .array());
  }

  private static @Nullable String name(DType dtype) {
    return switch (dtype) {
      case F64 -> "F64";
      case F32 -> "F32";
      case F16 -> "F16";
      case BF16 -> "BF16";
      case E4M3 -> "F8_E4M3";
      case E5M2 -> "F8_E5M2";
      case I64 -> "I64";
      case I32 -> "I32";
      case I16 -> "I16";
      case I8 -> "I8";
      case U8 -> "U8";
      case U32 -> "U32";
      case BOOL -> "BOOL";
      case Q4_0, Q4_1, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4, NF4 -> null;
    };
  }
}
