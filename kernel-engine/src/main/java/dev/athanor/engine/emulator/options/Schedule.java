package dev.athanor.engine.emulator.options;

/**
 * In which order threads go on that may. The hardware promises none but that each goes on at last
 * (PTX ISA 3.1): a right kernel gives the same with all.
 */
public enum Schedule {
  /** Those farthest behind first, so that threads of a warp meet again as soon as they can. */
  CONVERGING,
  /** Those farthest ahead first. */
  AHEAD_FIRST,
  /** Each as far as it gets before another has its turn. */
  ONE_BY_ONE,
  /** Any, changing after a few instructions, as the seed says. */
  RANDOM,
  /** As {@link #RANDOM}, and threads of a warp that parted meet only where they have to. */
  APART
}
