package dev.athanor.service.codec;

import static dev.athanor.service.codec.Tensors.excerpt;
import static dev.athanor.service.codec.Tensors.invalid;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * NumPy's file format, versions 1 to 3 (numpy.lib.format). Both byte orders are supported; arrays
 * in Fortran order are transposed to row-major. Pickled objects are rejected. npy has no type for
 * bf16, fp8 and block formats.
 */
public final class Npy {

  /** The offset of the header's text in version 1, which is the version written. */
  private static final int PREFIX = 10;

  private static final int MAX_HEADER = 1 << 16;
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};

  private static final Pattern ENTRY =
      Pattern.compile(
          "\\s*(['\"])(descr|fortran_order|shape)\\1\\s*:\\s*"
              + "(?:(['\"])([^'\"]*)\\3|(True|False)|\\(([\\d,\\sL]*)\\))\\s*");

  private Npy() {}

  /**
   * Reads the header of a file and returns its elements; the file must end after them.
   *
   * @param budget the memory for transposing an array, and the maximum size
   * @param field the path of the tensor in errors
   * @throws Failure with {@code invalid-tensor}, {@code unsupported-dtype} or {@code too-large}
   */
  public static Elements open(ByteSource in, DecodeBudget budget, String field) throws IOException {
    var start = in.readNBytes(8);
    if (start.length < 8 || !Arrays.equals(start, 0, 6, MAGIC, 0, 6)) {
      throw invalid(field, "the body is not an npy file: it does not begin with \\x93NUMPY");
    }
    int version = start[6];
    if (version < 1 || version > 3) {
      throw invalid(
          field, "npy version %d is not supported; supported are 1, 2 and 3".formatted(version));
    }
    var length = in.readNBytes(version == 1 ? 2 : 4);
    long headerBytes = 0;
    for (int i = length.length - 1; i >= 0; i--) {
      headerBytes = headerBytes << 8 | (length[i] & 0xFF);
    }
    if (headerBytes > MAX_HEADER) {
      throw invalid(
          field,
          "the npy header has %d bytes; the limit is %d bytes".formatted(headerBytes, MAX_HEADER));
    }
    var text = in.readNBytes((int) headerBytes);
    if (text.length < headerBytes || length.length < (version == 1 ? 2 : 4)) {
      throw invalid(field, "the npy file ends within its header");
    }
    var header = Header.parse(new String(text, StandardCharsets.UTF_8), field);
    var type = header.type();
    Tensors.checkSize(type, budget.limit(), field);
    return header.fortranOrder
        ? Elements.of(type, () -> transposed(header, in, budget, field))
        : Elements.of(type, in, header.bigEndian, budget.limit(), field);
  }

  /**
   * Returns the file header of a tensor.
   *
   * @return empty if npy has no such dtype
   */
  public static Optional<byte[]> header(TensorType type) {
    return description(type.dtype())
        .map(descr -> {
          var shape =
              type.shape().extents().stream()
                  .map(String::valueOf)
                  .collect(Collectors.joining(", "));
          var text =
              "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"
                  .formatted(descr, type.shape().rank() == 1 ? shape + "," : shape);
          // padded so that the data is aligned to 64 bytes
          int length = (PREFIX + text.length() + 1 + 63) / 64 * 64 - PREFIX;
          var bytes = new byte[PREFIX + length];
          Arrays.fill(bytes, (byte) ' ');
          System.arraycopy(MAGIC, 0, bytes, 0, MAGIC.length);
          bytes[6] = 1;
          bytes[7] = 0;
          bytes[8] = (byte) length;
          bytes[9] = (byte) (length >> 8);
          var encoded = text.getBytes(StandardCharsets.US_ASCII);
          System.arraycopy(encoded, 0, bytes, PREFIX, encoded.length);
          bytes[bytes.length - 1] = '\n';
          return bytes;
        });
  }

  private static Optional<String> description(DType dtype) {
    return Optional.ofNullable(
        switch (dtype) {
          case F64 -> "<f8";
          case F32 -> "<f4";
          case F16 -> "<f2";
          case I64 -> "<i8";
          case I32 -> "<i4";
          case I16 -> "<i2";
          case I8 -> "|i1";
          case U8 -> "|u1";
          case U32 -> "<u4";
          case BOOL -> "|b1";
          case BF16,
              E4M3,
              E5M2,
              Q4_0,
              Q4_1,
              Q5_0,
              Q8_0,
              Q4_K,
              Q5_K,
              Q6_K,
              IQ4_NL,
              IQ4_XS,
              MXFP4,
              NF4 ->
              null;
        });
  }

  private record Header(DType dtype, boolean bigEndian, boolean fortranOrder, List<Long> shape) {

    TensorType type() {
      return new TensorType(dtype, new Shape(shape));
    }

    /** Parses the literal of a Python dictionary with exactly the three keys of the format. */
    static Header parse(String text, String field) {
      var body = text.strip();
      if (!body.startsWith("{") || !body.endsWith("}")) {
        throw invalid(field, "the npy header is not a dictionary: " + excerpt(body));
      }
      String descr = "";
      String order = "";
      List<Long> extents = null;
      int at = 1;
      int end = body.length() - 1;
      Matcher entry = ENTRY.matcher(body).region(at, end);
      while (entry.lookingAt()) {
        switch (entry.group(2)) {
          case "descr" -> descr = or(entry.group(4));
          case "fortran_order" -> order = or(entry.group(5));
          default -> extents = entry.group(6) == null ? null : extents(entry.group(6), field);
        }
        at = entry.end();
        if (at < end && body.charAt(at) == ',') {
          at++;
        }
        entry.region(at, end);
      }
      if (!body.substring(at, end).isBlank()
          || descr.isEmpty()
          || order.isEmpty()
          || extents == null) {
        throw invalid(
            field,
            "the npy header must have exactly the keys descr, fortran_order and shape: "
                + excerpt(body));
      }
      var dtype = dtype(descr, field);
      Tensors.type(dtype, extents, field + ".shape");
      return new Header(dtype, descr.startsWith(">"), order.equals("True"), extents);
    }

    private static String or(@Nullable String group) {
      return group == null ? "" : group;
    }

    private static List<Long> extents(String tuple, String field) {
      var extents = new ArrayList<Long>();
      for (var part : tuple.replace("L", "").split(",", -1)) {
        if (!part.isBlank()) {
          extents.addAll(Tensors.extents(part.strip(), field + ".shape"));
        }
      }
      return extents;
    }

    private static DType dtype(String descr, String field) {
      // no prefix and = mean the native order, which is taken for little-endian
      boolean hasOrder = "<>|=".indexOf(descr.charAt(0)) >= 0;
      var name = hasOrder ? descr.substring(1) : descr;
      for (var dtype : DType.values()) {
        var known = description(dtype);
        if (known.isPresent() && known.get().substring(1).equals(name)) {
          return dtype;
        }
      }
      var known =
          Arrays.stream(DType.values())
              .flatMap(dtype -> description(dtype).stream())
              .map(text -> text.substring(1))
              .collect(Collectors.joining(", "));
      throw new Failure.Refused(
          Code.UNSUPPORTED_DTYPE,
          field + ".dtype",
          "the npy type \"%s\" is not supported; supported are %s, in either byte order; npy has no bf16"
              .formatted(excerpt(descr), known));
    }
  }

  /**
   * Reads an array in Fortran order, which is row-major with reversed dimensions, and transposes
   * it.
   */
  private static HostTensor transposed(
      Header header, ByteSource in, DecodeBudget budget, String field) throws IOException {
    var reversed = new TensorType(header.dtype, new Shape(header.shape.reversed()));
    var parts = List.of(new Tensors.Part(field, reversed));
    var stored = Tensors.read(parts, in, budget).getFirst();
    if (in.read() >= 0) {
      throw Tensors.tooMany(reversed, field);
    }
    if (header.bigEndian) {
      Elements.swap(stored.data(), header.dtype.bytes());
    }
    var type = header.type();
    var extents = header.shape;
    var result = new HostTensor(type, budget.memory().allocate(type.bytes(), Double.BYTES));
    int width = type.dtype().bytes();
    int rank = extents.size();
    var index = new long[rank];
    long elements = type.shape().elements();
    for (long to = 0; to < elements; to++) {
      long from = 0;
      for (int d = rank - 1; d >= 0; d--) {
        from = from * extents.get(d) + index[d];
      }
      MemorySegment.copy(stored.data(), from * width, result.data(), to * width, width);
      for (int d = rank - 1; d >= 0 && ++index[d] == extents.get(d); d--) {
        index[d] = 0;
      }
    }
    budget.memory().release(stored.data());
    return result;
  }
}
