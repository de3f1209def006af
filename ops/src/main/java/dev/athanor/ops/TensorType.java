package dev.athanor.ops;

/** The dtype and the shape of a tensor, which is dense and row-major. */
public record TensorType(DType dtype, Shape shape) {

  public static TensorType of(DType dtype, long... extents) {
    return new TensorType(dtype, Shape.of(extents));
  }

  /** The size of the data. */
  public long bytes() {
    return Math.multiplyExact(shape.elements(), dtype.bytes());
  }

  /** {@code f32[2, 3]}. */
  @Override
  public String toString() {
    return dtype.text() + shape;
  }
}
