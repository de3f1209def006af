package dev.athanor.engine.emulator.run;

import java.util.ArrayList;
import java.util.List;

/**
 * Where the threads of a block are. Those of a warp that are at one place form a fragment;
 * fragments that meet become one again.
 */
public final class ThreadPositions {

  /** Why a fragment does not go on. */
  public enum Wait {
    NONE,
    /** The rest of its warp has to come to the same instruction. */
    WARP,
    /** The rest of its block has to come to the same barrier. */
    BARRIER,
    /** Something else has to happen, as its instruction says. */
    EVENT
  }

  /** Some threads of a warp. */
  public static final class Fragment {
    public int pc;
    public int mask;
    public Wait wait = Wait.NONE;

    /** Whether it has gone round loops long enough, and others come first. */
    boolean spent;

    /** Whether it goes on though what it waited for has not happened. */
    boolean expired;

    Fragment(int pc, int mask) {
      this.pc = pc;
      this.mask = mask;
    }

    boolean isRunnable() {
      return wait == Wait.NONE && !spent;
    }
  }

  /** The fragments of one warp; none when all its threads have exited. */
  public static final class Warp {
    public final int index;
    public final List<Fragment> fragments = new ArrayList<>();

    /** The barrier at which it waits, if it does. */
    public int barrier;

    Warp(int index) {
      this.index = index;
    }

    /** Whether all its threads are at one place. */
    boolean isWhole() {
      return fragments.size() == 1;
    }

    boolean isRunnableAt(int pc) {
      var fragment = fragments.size() == 1 ? fragments.getFirst() : null;
      return fragment != null && fragment.pc == pc && fragment.isRunnable();
    }

    /** Moves some threads of a fragment to a place of their own. */
    void split(Fragment fragment, int mask, int pc) {
      fragment.mask &= ~mask;
      fragments.add(new Fragment(pc, mask));
    }

    /**
     * Makes one of fragments that are at the same place.
     *
     * @param needed whether only those meet that wait for one another
     */
    void merge(boolean needed) {
      for (int i = 0; i < fragments.size(); i++) {
        var kept = fragments.get(i);
        for (int j = fragments.size() - 1; j > i; j--) {
          var other = fragments.get(j);
          boolean wanted =
              needed
                  ? kept.wait == Wait.WARP && other.wait == Wait.WARP
                  // what has come to a barrier must not come again
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

    /** Takes note that threads of a fragment have ended, for which others may be waiting. */
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
