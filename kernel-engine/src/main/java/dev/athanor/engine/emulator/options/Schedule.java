package dev.athanor.engine.emulator.options;

/**
 * The order in which runnable threads execute. Hardware guarantees only that each thread makes
 * progress eventually (PTX ISA 3.1); a correct kernel gives the same results under all schedules.
 */
public enum Schedule {
  /** Threads farthest behind first, so that the threads of a warp reconverge early. */
  CONVERGING,
  /** Threads farthest ahead first. */
  AHEAD_FIRST,
  /** Each thread as far as it gets before the next. */
  ONE_BY_ONE,
  /** A random thread, changing after a few instructions, by the seed. */
  RANDOM,
  /** As {@link #RANDOM}, and diverged threads of a warp reconverge only where they must. */
  APART
}
