package dev.athanor.engine.ptx.meaning;

import dev.athanor.engine.ptx.Modifiers;

/** The source lanes of {@code shfl.sync} (PTX ISA 9.7.9.6). */
public enum Shuffle {
  UP,
  DOWN,
  BFLY,
  IDX;

  /** The source lane is out of range; the lane keeps its own value. */
  public static final int NONE = -1;

  /** Returns the mode in an instruction's modifiers. */
  public static Shuffle of(Modifiers modifiers) {
    return modifiers.has("up")
        ? UP
        : modifiers.has("down") ? DOWN : modifiers.has("bfly") ? BFLY : IDX;
  }

  /**
   * Returns the source lane, or {@link #NONE}.
   *
   * @param distance operand {@code b}: a lane or a distance
   * @param range operand {@code c}: clamp and segment mask
   */
  public int source(int lane, int distance, int range) {
    int steps = distance & 31;
    int clamp = range & 31;
    int segment = (range >>> 8) & 31;
    int last = (lane & segment) | (clamp & ~segment);
    if (this == UP) {
      return lane - steps >= last ? lane - steps : NONE;
    }
    int other =
        switch (this) {
          case DOWN -> lane + steps;
          case BFLY -> lane ^ steps;
          default -> (lane & segment) | (steps & ~segment);
        };
    return other <= last ? other : NONE;
  }
}
