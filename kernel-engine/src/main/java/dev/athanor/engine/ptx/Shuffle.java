package dev.athanor.engine.ptx;

/** Whose value a lane asks for with {@code shfl.sync} (PTX ISA 9.7.9.6). */
public final class Shuffle {

  /** No lane: the one asked for is out of range, and the lane keeps its own value. */
  public static final int NONE = -1;

  private Shuffle() {}

  /**
   * The lane asked for, or {@link #NONE}.
   *
   * @param modifiers of the instruction, which say how
   * @param distance the operand {@code b}: a lane or a distance
   * @param range the operand {@code c}: clamp and segment mask
   */
  public static int source(Modifiers modifiers, int lane, int distance, int range) {
    int steps = distance & 31;
    int clamp = range & 31;
    int segment = (range >>> 8) & 31;
    int last = (lane & segment) | (clamp & ~segment);
    if (modifiers.has("up")) {
      return lane - steps >= last ? lane - steps : NONE;
    }
    int other =
        modifiers.has("down")
            ? lane + steps
            : modifiers.has("bfly") ? lane ^ steps : (lane & segment) | (steps & ~segment);
    return other <= last ? other : NONE;
  }
}
