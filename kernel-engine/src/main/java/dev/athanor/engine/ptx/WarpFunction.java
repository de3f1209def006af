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
   * @throws IllegalArgumentException if the manual does not define the result for these sources
   */
  void apply(Call call, int[][] sources, int[][] results);

  /**
   * Returns a function for one thread and one spelling of the instruction, which may keep scratch
   * memory.
   *
   * @param target target whose arithmetic is used
   */
  default WarpFunction bind(Modifiers modifiers, Target target) {
    return this;
  }

  /**
   * The context of a call.
   *
   * @param activeLanes bit {@code i} is set if lane {@code i} participates
   */
  record Call(Modifiers modifiers, Target target, int activeLanes) {}
}
