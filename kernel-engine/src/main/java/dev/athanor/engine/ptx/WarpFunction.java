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
}
