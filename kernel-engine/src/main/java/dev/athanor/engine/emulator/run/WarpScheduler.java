package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.emulator.run.ThreadPositions.Fragment;
import dev.athanor.engine.emulator.run.ThreadPositions.Wait;
import dev.athanor.engine.emulator.run.ThreadPositions.Warp;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** Chooses who of a block goes on, and how far, as a {@link Schedule} says. */
final class WarpScheduler {

  private static final int NOWHERE = Integer.MAX_VALUE;

  /** How many instructions a random turn takes at most. */
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

  /** Starts a block, whose order depends on its number and the seed. */
  void begin(long number) {
    random = new SplittableRandom(seed * 0x9E37_79B9_7F4A_7C15L + number);
  }

  /** Whether whole warps at one place go on together. */
  boolean formsGangs() {
    return schedule == Schedule.CONVERGING;
  }

  /** Whether threads that parted meet only where they have to. */
  boolean keepsApart() {
    return schedule == Schedule.APART;
  }

  /** A warp that has a runnable fragment. */
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

  /** The fragment of a warp that goes on. */
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
      throw new IllegalArgumentException("nothing of warp " + warp.index + " may go on");
    }
    return best;
  }

  /** How many instructions a turn has at most. */
  int turn() {
    return isRandom() ? 1 + random.nextInt(LONGEST_TURN) : NOWHERE;
  }

  /** The next place after this one where others are, and a turn ends. */
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
