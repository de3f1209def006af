package dev.athanor.ops;

import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The dtype and shape of a dense, row-major tensor. */
public record TensorType(DType dtype, Shape shape) {

  private static final Pattern TEXT = Pattern.compile("(\\w+)\\[(|\\d{1,18}(?:,\\d{1,18})*)]");

  public static TensorType of(DType dtype, long... extents) {
    return new TensorType(dtype, Shape.of(extents));
  }

  /**
   * Checks that rows consist of whole blocks.
   *
   * @throws IllegalArgumentException if they do not
   */
  public TensorType {
    int block = dtype.blockElements();
    if (dtype.isBlock() && (shape.rank() == 0 || shape.extent(-1) % block != 0)) {
      throw new IllegalArgumentException(
          "%s is stored in blocks of %d elements, and the last dimension must be a multiple of the block size, got shape %s"
              .formatted(dtype.text(), block, shape));
    }
  }

  /**
   * Parses text such as {@code f16[4096,4096]}; {@code f32[]} is a scalar.
   *
   * @throws IllegalArgumentException for any other text
   */
  public static TensorType parse(String text) {
    var parts = TEXT.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is not a tensor type; expected a form such as f16[4096,4096]".formatted(text));
    }
    var dtype =
        DType.of(parts.group(1))
            .orElseThrow(() ->
                new IllegalArgumentException(
                    "\"%s\" has an unknown dtype; dtypes are %s".formatted(text, DType.names())));
    var extents = parts.group(2);
    return new TensorType(
        dtype,
        extents.isEmpty()
            ? Shape.of()
            : Shape.of(Stream.of(extents.split(",", -1)).mapToLong(Long::parseLong).toArray()));
  }

  /** Returns whether an extent is 0. */
  public boolean isEmpty() {
    return shape.extents().contains(0L);
  }

  /** Returns the size of the data in bytes. */
  public long bytes() {
    return Math.multiplyExact(shape.elements() / dtype.blockElements(), dtype.bytes());
  }

  /** Returns whether the number of elements and the size in bytes are at most 2^63 - 1. */
  public boolean hasSize() {
    try {
      return bytes() >= 0;
    } catch (ArithmeticException e) {
      return false;
    }
  }

  /** Returns text that {@link #parse} accepts: {@code f32[2,3]}. */
  public String text() {
    return toString().replace(" ", "");
  }

  /** Returns text such as {@code f32[2, 3]}. */
  @Override
  public String toString() {
    return dtype.text() + shape;
  }
}
