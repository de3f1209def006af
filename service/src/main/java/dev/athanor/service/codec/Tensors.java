package dev.athanor.service.codec;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Validation rules for tensors in all formats. */
public final class Tensors {

  /** Maximum number of dimensions; more than any op supports, and a bound for hostile input. */
  public static final int MAX_RANK = 16;

  /** Maximum lease, ten years. A lease of zero never expires. */
  public static final long LONGEST_LEASE_SECONDS = 315_360_000;

  private static final Pattern INTEGER = Pattern.compile("-?[0-9]{1,19}");

  /** Maximum length of a name or a scope, in characters. */
  public static final int MAX_LABEL_LENGTH = 128;

  /** ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER, which occur in words and emoji. */
  private static final Set<Integer> JOINERS = Set.of(0x200C, 0x200D);

  private Tensors() {}

  /**
   * Reads the name of a dtype.
   *
   * @param field the path of the dtype in the request
   * @throws Failure with {@code unsupported-dtype}
   */
  public static DType dtype(String text, String field) {
    return DType.of(text)
        .orElseThrow(() ->
            new Failure.Refused(
                Code.UNSUPPORTED_DTYPE,
                field,
                "%s is \"%s\"; it must be one of %s"
                    .formatted(field, excerpt(text), DType.names())));
  }

  /**
   * Checks a dtype and a shape from a client.
   *
   * @param field the path of the shape in the request
   * @throws Failure with {@code invalid-tensor} if an extent is negative, the rank is too high or
   *     the size overflows
   */
  public static TensorType type(DType dtype, List<Long> extents, String field) {
    if (extents.size() > MAX_RANK) {
      throw invalid(
          field,
          "%s has %d dimensions; the limit is %d".formatted(field, extents.size(), MAX_RANK));
    }
    for (long extent : extents) {
      if (extent < 0) {
        throw invalid(field, "%s is %s; every extent must be at least 0".formatted(field, extents));
      }
    }
    TensorType type;
    try {
      type = new TensorType(dtype, new Shape(extents));
      type.bytes();
    } catch (IllegalArgumentException e) {
      throw invalid(field, "%s: %s".formatted(field, e.getMessage()));
    } catch (ArithmeticException e) {
      throw invalid(field, "%s is %s, which exceeds 2^63 bytes".formatted(field, extents));
    }
    return type;
  }

  /**
   * Parses an integer of ASCII digits with an optional minus sign; empty if the text is invalid or
   * does not fit into 64 bits. {@link Long#parseLong} would also accept a plus sign and digits of
   * other scripts.
   */
  public static OptionalLong integer(String text) {
    if (!INTEGER.matcher(text).matches()) {
      return OptionalLong.empty();
    }
    var value = new BigInteger(text);
    return value.bitLength() < Long.SIZE
        ? OptionalLong.of(value.longValue())
        : OptionalLong.empty();
  }

  /**
   * Parses a shape such as {@code 2,3}; the empty text is the shape of a scalar.
   *
   * @throws Failure with {@code invalid-tensor}
   */
  public static List<Long> extents(String text, String field) {
    var extents = new ArrayList<Long>();
    if (!text.isEmpty()) {
      for (var part : text.split(",", -1)) {
        extents.add(
            integer(part.replaceAll("^ +| +$", ""))
                .orElseThrow(() ->
                    invalid(
                        field,
                        "%s is \"%s\"; it must be comma-separated extents, such as 2,3"
                            .formatted(field, excerpt(text)))));
      }
    }
    return extents;
  }

  /**
   * Reads the elements of consecutive tensors, little-endian and row-major. More data may follow.
   *
   * @param parts the tensors, in the order of their data
   * @return the tensors in the same order
   * @throws Failure with {@code invalid-tensor} if the data is too short, or with {@code too-large}
   *     if a tensor exceeds the limit
   */
  public static List<HostTensor> read(List<Part> parts, ByteSource in, DecodeBudget budget)
      throws IOException {
    long bytes = 0;
    for (var part : parts) {
      checkSize(part.type, budget.limit(), part.field);
      bytes += part.type.bytes();
    }
    var data = ByteSink.readAll(in, budget.memory(), Math.min(bytes, budget.limit() + 1));
    var tensors = new ArrayList<HostTensor>();
    long at = 0;
    for (var part : parts) {
      long end = Math.min(at + part.type.bytes(), data.byteSize());
      tensors.add(checked(part.type, data.asSlice(at, end - at), part.field));
      at = end;
    }
    return tensors;
  }

  /** Reads a body that consists of data only. The body itself fails if it exceeds the limit. */
  public static MemorySegment readAll(ByteSource body, DecodeBudget budget) throws IOException {
    return ByteSink.readAll(body, budget.memory(), budget.limit() + 1);
  }

  /**
   * A tensor of a sequence.
   *
   * @param field its path in the request
   */
  public record Part(String field, TensorType type) {}

  /**
   * Wraps bytes as a tensor.
   *
   * @throws Failure with {@code invalid-tensor} if the number of bytes is wrong, or a bool is
   *     neither 0 nor 1
   */
  public static HostTensor checked(TensorType type, MemorySegment data, String field) {
    if (data.byteSize() != type.bytes()) {
      throw wrongSize(type, data.byteSize(), field);
    }
    checkElements(type, data, 0, field);
    return new HostTensor(type, data);
  }

  /**
   * Checks the elements of a part of a tensor.
   *
   * @param from the byte offset of the part
   * @throws Failure with {@code invalid-tensor} if a bool is neither 0 nor 1
   */
  static void checkElements(TensorType type, MemorySegment part, long from, String field) {
    if (type.dtype() == DType.BOOL) {
      for (long i = 0; i < part.byteSize(); i++) {
        byte value = part.get(ValueLayout.JAVA_BYTE, i);
        if (value != 0 && value != 1) {
          throw invalid(
              field,
              "byte %d of a bool tensor is %d; it must be 0 or 1"
                  .formatted(from + i, value & 0xFF));
        }
      }
    }
  }

  /**
   * Checks the size of a tensor.
   *
   * @throws Failure with {@code too-large}
   */
  static void checkSize(TensorType type, long limit, String field) {
    if (type.bytes() > limit) {
      throw new Failure.Refused(
          Code.TOO_LARGE,
          field,
          "%s needs %d bytes; the limit is %d bytes".formatted(type, type.bytes(), limit));
    }
  }

  /** Returns the failure for a wrong number of bytes. */
  public static Failure wrongSize(TensorType type, long got, String field) {
    return invalid(field, "%s needs %d bytes of data, got %d".formatted(type, type.bytes(), got));
  }

  /**
   * Returns the failure for a file that ends within the data of a tensor.
   *
   * @param got the number of bytes of the tensor that the file has
   */
  static Failure truncated(String name, TensorType type, long got) {
    return invalid(
        name,
        "the file is truncated: %s is %s and needs %d bytes of data, got %d"
            .formatted(excerpt(name), type, type.bytes(), got));
  }

  static Failure tooMany(TensorType type, String field) {
    return invalid(field, "%s needs %d bytes of data, got more".formatted(type, type.bytes()));
  }

  /**
   * Checks a name or a scope.
   *
   * @param field its path in the request
   * @throws Failure with {@code invalid-attribute} unless it {@linkplain #isLabel is a label}
   */
  public static String label(String text, String field) {
    if (!isLabel(text)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          field,
          "%s is \"%s\"; it must have 1 to %d printable characters"
              .formatted(field, excerpt(text), MAX_LABEL_LENGTH));
    }
    return text;
  }

  /** Whether a text has 1 to 128 printable characters and is not blank. */
  public static boolean isLabel(String text) {
    return !text.isBlank()
        && text.codePointCount(0, text.length()) <= MAX_LABEL_LENGTH
        && text.codePoints().allMatch(Tensors::isPrintable);
  }

  /**
   * Returns the failure for a tensor that is too large.
   *
   * @param tensor its path in the request; may be empty
   */
  static Failure tooLarge(String tensor, long limit) {
    return new Failure.Refused(
        Code.TOO_LARGE,
        tensor.isEmpty() ? null : tensor,
        "%s has more than %d bytes of data"
            .formatted(tensor.isEmpty() ? "the tensor" : tensor, limit));
  }

  static Failure invalid(@Nullable String field, String message) {
    return new Failure.Refused(Code.INVALID_TENSOR, field, message);
  }

  /**
   * Returns the beginning of a client's text for error messages, with unprintable characters
   * replaced.
   */
  public static String excerpt(String text) {
    var start = printable(text.codePoints().limit(60));
    return start.length() < text.length() ? start + "…" : start;
  }

  /** Returns a text with unprintable characters replaced. */
  public static String printable(String text) {
    return printable(text.codePoints());
  }

  private static String printable(IntStream text) {
    return text.map(c -> isPrintable(c) ? c : '?')
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  /**
   * Whether a character is printable. Characters that reorder, hide or break the surrounding text
   * are not, and neither are unpaired surrogates, which cannot be encoded in a response.
   */
  private static boolean isPrintable(int codePoint) {
    return switch (Character.getType(codePoint)) {
      case Character.CONTROL,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          false;
      case Character.FORMAT -> JOINERS.contains(codePoint);
      default -> true;
    };
  }
}
