package dev.athanor.ops;

import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The dtype and the shape of a tensor, which is dense and row-major. */
public record TensorType(DType dtype, Shape shape) {

  private static final Pattern TEXT = Pattern.compile("(\\w+)\\[(|\\d{1,18}(?:,\\d{1,18})*)]");

  public static TensorType of(DType dtype, long... extents) {
    return new TensorType(dtype, Shape.of(extents));
  }

  /**
   * Checks that rows are whole blocks.
   *
   * @throws IllegalArgumentException when they are not
   */
  public TensorType {
    int block = dtype.blockElements();
    if (dtype.isBlock() && (shape.rank() == 0 || shape.extent(-1) % block != 0)) {
      throw new IllegalArgumentException(
          "%s is stored in blocks of %d elements along the last dimension, which must be a multiple of it, got shape %s"
              .formatted(dtype.text(), block, shape));
    }
  }

  /**
   * Reads {@code f16[4096,4096]}; {@code f32[]} is a scalar.
   *
   * @throws IllegalArgumentException for any other text, with a sentence
   */
  public static TensorType parse(String text) {
    var parts = TEXT.matcher(text);
    if (!parts.matches()) {
      throw new IllegalArgumentException(
          "\"%s\" is no tensor type; one is written f16[4096,4096]".formatted(text));
    }
    var dtype =
        DType.of(parts.group(1))
            .orElseThrow(() ->
                new IllegalArgumentException(
                    "\"%s\" has no known dtype; dtypes are %s".formatted(text, DType.names())));
    var extents = parts.group(2);
    return new TensorType(
        dtype,
        extents.isEmpty()
            ? Shape.of()
            : Shape.of(Stream.of(extents.split(",", -1)).mapToLong(Long::parseLong).toArray()));
  }

  /** The size of the data. */
  public long bytes() {
    return Math.multiplyExact(shape.elements() / dtype.blockElements(), dtype.bytes());
  }

  /** {@code f32[2,3]}, as {@link #parse} reads it. */
  public String text() {
    return toString().replace(" ", "");
  }

  /** {@code f32[2, 3]}. */
  @Override
  public String toString() {
    return dtype.text() + shape;
  }
}
