package dev.athanor.service.codec;

import static dev.athanor.service.codec.Tensors.excerpt;
import static dev.athanor.service.codec.Tensors.invalid;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The tensors of a GGUF file, versions 2 and 3, little-endian. Metadata is skipped, except for
 * {@code general.alignment}. GGML writes the innermost extent first; the shapes here begin with the
 * outermost, so that a matrix of {@code K} columns and {@code N} rows is {@code [N, K]}. GGML types
 * become the dtypes of the same name; block formats keep their blocks.
 */
public final class Gguf {

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private static final int MAGIC = 0x46554747; // GGUF
  private static final int MAX_STRING = 65_535;
  private static final String ALIGNMENT = "general.alignment";
  private static final int UINT32 = 4;
  private static final int STRING = 8;
  private static final int ARRAY = 9;

  /** Sizes of metadata values by their type; 0 for those of variable size. */
  private static final int[] VALUE_BYTES = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

  /** The GGML types with a dtype, by number. */
  private static final Map<Integer, DType> TYPES =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry(0, DType.F32),
              Map.entry(1, DType.F16),
              Map.entry(2, DType.Q4_0),
              Map.entry(3, DType.Q4_1),
              Map.entry(6, DType.Q5_0),
              Map.entry(8, DType.Q8_0),
              Map.entry(12, DType.Q4_K),
              Map.entry(13, DType.Q5_K),
              Map.entry(14, DType.Q6_K),
              Map.entry(20, DType.IQ4_NL),
              Map.entry(23, DType.IQ4_XS),
              Map.entry(24, DType.I8),
              Map.entry(25, DType.I16),
              Map.entry(26, DType.I32),
              Map.entry(27, DType.I64),
              Map.entry(28, DType.F64),
              Map.entry(30, DType.BF16),
              Map.entry(39, DType.MXFP4)));

  private final MemorySegment file;
  private long at;

  private Gguf(MemorySegment file) {
    this.file = file;
  }

  /**
   * Returns the tensors of a file in memory, without copying their data.
   *
   * @throws Failure with {@code invalid-tensor} or {@code unsupported-dtype}
   */
  public static Map<String, HostTensor> read(MemorySegment file) {
    return new Gguf(file).read();
  }

  /** A tensor in the header, whose data is at {@code offset} from the end of the header. */
  private record Entry(String name, TensorType type, long offset) {}

  private Map<String, HostTensor> read() {
    if (file.byteSize() < Integer.BYTES || readInt() != MAGIC) {
      throw invalid(null, "a GGUF file must begin with the letters GGUF");
    }
    int version = readInt();
    if (version != 2 && version != 3) {
      throw invalid(
          null,
          "the GGUF version is %s; it must be 2 or 3, little-endian"
              .formatted(Integer.toUnsignedString(version)));
    }
    long tensors = readLong();
    long values = readLong();
    long alignment = 32;
    for (long i = 0; i != values; i++) {
      var key = readString("a metadata key");
      int type = readInt();
      if (key.equals(ALIGNMENT) && type == UINT32) {
        alignment = alignment(readInt());
      } else {
        skipValue(key, type);
      }
    }
    var entries = new ArrayList<Entry>();
    for (long i = 0; i != tensors; i++) {
      entries.add(readEntry(alignment));
    }
    long start = (at + alignment - 1) / alignment * alignment;
    return locate(entries, start);
  }

  private static long alignment(int value) {
    if (Integer.bitCount(value) != 1 || value < 0) {
      throw invalid(
          null,
          "%s is %s; it must be a power of two"
              .formatted(ALIGNMENT, Integer.toUnsignedString(value)));
    }
    return value;
  }

  private void skipValue(String key, int type) {
    if (type == STRING) {
      skip(readLong(), 1);
    } else if (type == ARRAY) {
      int of = readInt();
      long length = readLong();
      if (of == STRING) {
        for (long i = 0; i != length; i++) {
          skip(readLong(), 1);
        }
      } else {
        skip(length, valueBytes(key, of));
      }
    } else {
      skip(1, valueBytes(key, type));
    }
  }

  private static int valueBytes(String key, int type) {
    int bytes = type >= 0 && type < VALUE_BYTES.length ? VALUE_BYTES[type] : 0;
    if (bytes == 0) {
      throw invalid(
          null,
          "the metadata %s has values of type %s; supported are 0 to 12, and arrays of them except arrays of arrays"
              .formatted(excerpt(key), Integer.toUnsignedString(type)));
    }
    return bytes;
  }

  private Entry readEntry(long alignment) {
    var name = readString("the name of a tensor");
    int rank = readInt();
    if (rank < 0 || rank > Tensors.MAX_RANK) {
      throw invalid(
          name,
          "the tensor %s has %s dimensions; the limit is %d"
              .formatted(excerpt(name), Integer.toUnsignedString(rank), Tensors.MAX_RANK));
    }
    var extents = new ArrayList<Long>();
    for (int i = 0; i < rank; i++) {
      extents.addFirst(readLong());
    }
    int number = readInt();
    var dtype = Optional.ofNullable(TYPES.get(number)).orElseThrow(() -> unsupported(name, number));
    var type = Tensors.type(dtype, extents, "the shape of " + excerpt(name));
    long offset = readLong();
    if (offset < 0 || offset % alignment != 0) {
      throw invalid(
          name,
          "the data of %s begins at byte %s; it must begin at a multiple of %d"
              .formatted(excerpt(name), Long.toUnsignedString(offset), alignment));
    }
    return new Entry(name, type, offset);
  }

  private static Failure unsupported(String name, int type) {
    return new Failure.Refused(
        Code.UNSUPPORTED_DTYPE,
        name,
        "the tensor %s has GGML type %s; supported are %s"
            .formatted(
                excerpt(name),
                Integer.toUnsignedString(type),
                TYPES.entrySet().stream()
                    .map(each -> "%s (%d)".formatted(each.getValue(), each.getKey()))
                    .collect(Collectors.joining(", "))));
  }

  private Map<String, HostTensor> locate(List<Entry> entries, long start) {
    entries.sort(Comparator.comparingLong(Entry::offset));
    var tensors = new LinkedHashMap<String, HostTensor>();
    long size = Math.max(0, file.byteSize() - start);
    long end = 0;
    for (var entry : entries) {
      long bytes = entry.type.bytes();
      if (entry.offset < end) {
        throw invalid(
            entry.name,
            "the data of %s begins at byte %d, but the preceding data ends at %d; overlaps are not allowed"
                .formatted(excerpt(entry.name), entry.offset, end));
      }
      if (bytes > size - entry.offset) {
        throw Tensors.truncated(entry.name, entry.type, Math.max(0, size - entry.offset));
      }
      end = entry.offset + bytes;
      var data = file.asSlice(start + entry.offset, bytes);
      if (tensors.put(entry.name, new HostTensor(entry.type, data)) != null) {
        throw invalid(entry.name, "two tensors have the name " + excerpt(entry.name));
      }
    }
    return tensors;
  }

  // -- the header

  private int readInt() {
    return file.get(INT, skip(1, Integer.BYTES));
  }

  private long readLong() {
    return file.get(LONG, skip(1, Long.BYTES));
  }

  private String readString(String what) {
    long length = readLong();
    if (length < 0 || length > MAX_STRING) {
      throw invalid(
          null,
          "%s has %s bytes; the limit is %d"
              .formatted(what, Long.toUnsignedString(length), MAX_STRING));
    }
    var bytes = file.asSlice(skip(length, 1), length).toArray(ValueLayout.JAVA_BYTE);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Advances by some values, and returns where they begin. */
  private long skip(long count, int width) {
    if (count < 0 || count > (file.byteSize() - at) / width) {
      throw invalid(
          null, "the file ends within its header, after %d bytes".formatted(file.byteSize()));
    }
    long begin = at;
    at += count * width;
    return begin;
  }
}
