package dev.athanor.engine.ptx;

/** The semantics of an instruction that a warp executes as a unit. */
@FunctionalInterface
public interface WarpFunction {
  /**
   * Computes the results of all lanes.
   *
   * @param call modifiers, target and participating lanes
   * @param sources 32-bit words of the 32 lanes, for each source register; vectors one register
   *     after another; a 64-bit register takes two rows, low word first; a predicate is 0 or 1
   * @param results same layout for the results; lanes that do not participate are unchanged
   */
  void apply(Call call, int[][] sources, int[][] results);

  /**
   * Returns a function for one thread and one spelling of the instruction, which may keep scratch
   * memory.
   *
   * @param target target whose arithmetic is used
   * @param loop loop for matrix products in {@link Arithmetic#FAST} mode
   */
  default WarpFunction bind(Modifiers modifiers, Target target, ProductLoop loop) {
    return this;
  }

  /**
   * The context of a call.
   *
   * @param activeLanes bit {@code i} is set if lane {@code i} participates
   */
  record Call(Modifiers modifiers, Target target, Arithmetic arithmetic, int activeLanes) {}

  /**
   * A loop for products of f32 matrices in {@link Arithmetic#FAST} mode. Each sum accumulates its
   * products with ascending k and rounds each to nearest. Sums may be computed in any order, and
   * the bits of NaNs are unspecified.
   */
  @FunctionalInterface
  interface ProductLoop {
    /**
     * Adds the products to the sums.
     *
     * @param shape m is a multiple of 2, n of 8
     * @param a m by k, row-major
     * @param b k by n
     * @param sums m by n
     */
    void add(MatrixShape shape, float[] a, float[] b, float[] sums);
  }
}
