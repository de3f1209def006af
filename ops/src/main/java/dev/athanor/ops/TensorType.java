package dev.athanor.ops;

/** The dtype and the shape of a tensor, which is dense and row-major. */
public record TensorType(DType dtype, Shape shape) {

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

  /** The size of the data. */
  public long bytes() {
    return Math.multiplyExact(shape.elements() / dtype.blockElements(), dtype.bytes());
  }

  /** {@code f32[2, 3]}. */
  @Override
  public String toString() {
    return dtype.text() + shape;
  }
}
