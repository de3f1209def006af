package dev.athanor.engine.emulator.run;

import java.util.ArrayList;
import java.util.List;

/**
 * The program counters of the threads of a block. Threads of a warp at the same instruction form a
 * fragment; fragments that meet merge.
 */
public final class ThreadPositions {

  /** Why a fragment is not runnable. */
  public enum Wait {
    NONE,
    /** It waits for the rest of its warp at the same instruction. */
    WARP,
    /** It waits for the rest of its block at the same barrier. */
    BARRIER,
    /** It waits for the event of its instruction. */
    EVENT
  }

  /** Threads of a warp that execute together. */
  public static final class Fragment {
    public int pc;
    public int mask;
    public Wait wait = Wait.NONE;

    /** Whether it has used up its turn in a loop. */
    boolean spent;

    /** Whether its wait has timed out. */
    boolean expired;

    Fragment(int pc, int mask) {
      this.pc = pc;
      this.mask = mask;
    }

    boolean isRunnable() {
      return wait == Wait.NONE && !spent;
    }
  }

  /** The fragments of one warp; none once all its threads have exited. */
  public static final class Warp {
    public final int index;
    public final List<Fragment> fragments = new ArrayList<>();

    /** The barrier at which it waits, if it does. */
    public int barrier;

    Warp(int index) {
      this.index = index;
    }

    /** Returns whether all its live threads are in one fragment. */
    boolean isWhole() {
      return fragments.size() == 1;
    }

    boolean isRunnableAt(int pc) {
      var fragment = fragments.size() == 1 ? fragments.getFirst() : null;
      return fragment != null && fragment.pc == pc && fragment.isRunnable();
    }

    /** Splits threads off a fragment and moves them to another instruction. */
    void split(Fragment fragment, int mask, int pc) {
      fragment.mask &= ~mask;
      fragments.add(new Fragment(pc, mask));
    }

    /**
     * Merges fragments at the same instruction.
     *
     * @param needed whether to merge only fragments that wait for one another
     */
    void merge(boolean needed) {
      for (int i = 0; i < fragments.size(); i++) {
        var kept = fragments.get(i);
        for (int j = fragments.size() - 1; j > i; j--) {
          var other = fragments.get(j);
          boolean wanted =
              needed
                  ? kept.wait == Wait.WARP && other.wait == Wait.WARP
                  // a fragment that has arrived at a barrier must not arrive again
                  : kept.wait != Wait.BARRIER && other.wait != Wait.BARRIER;
          if (other.pc == kept.pc && wanted) {
            var merged = fragments.remove(j);
            kept.mask |= merged.mask;
            kept.wait = Wait.NONE;
            kept.spent &= merged.spent;
          }
        }
      }
    }

    /** Records the exit of threads of a fragment, for which others may be waiting. */
    void exited(Fragment fragment) {
      if (fragment.mask == 0) {
        fragments.remove(fragment);
      }
      for (var other : fragments) {
        if (other.wait == Wait.WARP) {
          other.wait = Wait.NONE;
        }
      }
    }
  }

  private ThreadPositions() {}
}
