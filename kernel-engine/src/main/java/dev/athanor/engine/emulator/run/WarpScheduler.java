package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the next warp of a block and the length of its turn, by the {@link Schedule} of the
 * launch.
 */
final class WarpScheduler {

  private static final int NOWHERE = Integer.MAX_VALUE;

  /** Maximum number of instructions in a random turn. */
  private static final int LONGEST_TURN = 12;

  private final Schedule schedule;
  private final long seed;
  private final Warp[] warps;
  private final List<Warp> candidates = new ArrayList<>();
  private SplittableRandom random = new SplittableRandom(0);

  WarpScheduler(Schedule schedule, long seed, Warp[] warps) {
    this.schedule = schedule;
    this.seed = seed;
    this.warps = warps;
  }

  /** Starts a block; its order depends on its number and the seed. */
  void begin(long number) {
    random = new SplittableRandom(seed * 0x9E37_79B9_7F4A_7C15L + number);
  }

  /** Returns whether whole warps at the same instruction run together. */
  boolean formsGangs() {
    return schedule == Schedule.CONVERGING;
  }

  /** Returns whether diverged threads merge only where they must. */
  boolean keepsApart() {
    return schedule == Schedule.APART;
  }

  /** Returns a warp with a runnable fragment; null = there is none. */
  @Nullable Warp next() {
    candidates.clear();
    Warp best = null;
    int place = 0;
    for (var warp : warps) {
      for (var fragment : warp.fragments) {
        if (fragment.isRunnable()) {
          candidates.add(warp);
          if (best == null || isBefore(fragment.pc, place)) {
            best = warp;
            place = fragment.pc;
          }
        }
      }
    }
    return isRandom() && best != null ? candidates.get(random.nextInt(candidates.size())) : best;
  }

  private boolean isRandom() {
    return schedule == Schedule.RANDOM || schedule == Schedule.APART;
  }

  private boolean isBefore(int pc, int other) {
    return switch (schedule) {
      case CONVERGING -> pc < other;
      case AHEAD_FIRST -> pc > other;
      case ONE_BY_ONE, RANDOM, APART -> false;
    };
  }

  /** Returns the fragment of a warp that runs next. */
  Fragment of(Warp warp) {
    Fragment best = null;
    int seen = 0;
    for (var fragment : warp.fragments) {
      if (fragment.isRunnable()) {
        seen++;
        if (best == null
            || isBefore(fragment.pc, best.pc)
            || (isRandom() && random.nextInt(seen) == 0)) {
          best = fragment;
        }
      }
    }
    if (best == null) {
      throw new IllegalArgumentException("no fragment of warp " + warp.index + " is runnable");
    }
    return best;
  }

  /** Returns the maximum number of instructions in the next turn. */
  int turn() {
    return isRandom() ? 1 + random.nextInt(LONGEST_TURN) : NOWHERE;
  }

  /**
   * Returns the next instruction after this one at which other fragments stand; the turn ends
   * there.
   */
  int meeting(int pc) {
    int nearest = NOWHERE;
    if (schedule == Schedule.CONVERGING) {
      for (var warp : warps) {
        for (var fragment : warp.fragments) {
          if (fragment.pc > pc && fragment.pc < nearest && fragment.wait != Wait.BARRIER) {
            nearest = fragment.pc;
          }
        }
      }
    }
    return nearest;
  }
}
