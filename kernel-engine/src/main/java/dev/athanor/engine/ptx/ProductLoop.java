package dev.athanor.engine.ptx;

/**
 * Adds products of f32 matrices, {@link Arithmetic#FAST fast}: each sum takes its products in the
 * order of k, rounded to nearest after each. How many sums are computed side by side is free, and
 * so are the bits of NaNs.
 */
@FunctionalInterface
public interface ProductLoop {

  /**
   * Adds the products to sums.
   *
   * @param shape m a multiple of 2, n of 8
   * @param a m by k, row-major
   * @param b k by n
   * @param sums m by n
   */
  void add(MatrixShape shape, float[] a, float[] b, float[] sums);
}
