package dev.athanor.engine.ptx;

/** The meaning of an instruction that a warp executes as one. */
@FunctionalInterface
public interface WarpFunction {

  /**
   * Computes the results of all lanes.
   *
   * @param call the modifiers, the target whose arithmetic is wanted, and the lanes taking part
   * @param sources for each source register the raw 32-bit words of its 32 lanes, vectors one
   *     register after the other; a 64-bit register takes two rows, low word first; a predicate is
   *     0 or 1
   * @param results the same for the results; lanes that take no part are left alone
   */
  void apply(Call call, int[][] sources, int[][] results);

  /**
   * The function that one thread calls for all instructions of one spelling, which may keep scratch
   * memory.
   *
   * @param target whose arithmetic is wanted
   * @param loop for matrix products that need not be exact
   */
  default WarpFunction bind(Modifiers modifiers, Target target, ProductLoop loop) {
    return this;
  }

  /**
   * How a warp function is called.
   *
   * @param activeLanes bit {@code i} says whether lane {@code i} takes part
   */
  record Call(Modifiers modifiers, Target target, Arithmetic arithmetic, int activeLanes) {}

  /**
   * Adds products of f32 matrices, {@link Arithmetic#FAST fast}: each sum takes its products in the
   * order of k, rounded to nearest after each. How many sums are computed side by side is free, and
   * so are the bits of NaNs.
   */
  @FunctionalInterface
  interface ProductLoop {

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
}
