package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import java.util.Arrays;

/**
 * The sixteen barriers of a block (PTX ISA 9.7.13.1). Whole warps arrive at a barrier; it opens
 * when the expected number has arrived, and is then reset.
 */
public final class NamedBarriers {

  public static final int COUNT = Observer.BARRIERS;

  /** The expected number of warps of a barrier that waits for all live warps. */
  static final int ALL = 0;

  private final int[] arrived = new int[COUNT];
  private final int[] expected = new int[COUNT];
  private final boolean[] reduces = new boolean[COUNT];
  private final int[] holding = new int[COUNT];
  private final int[] asked = new int[COUNT];
  private final int[] came = new int[COUNT];

  void clear() {
    Arrays.fill(arrived, 0);
  }

  /** Returns how many warps have arrived since the barrier last opened. */
  int arrived(int barrier) {
    return arrived[barrier];
  }

  /** Returns whether a warp has arrived since the barrier last opened. */
  boolean has(int barrier, int warp) {
    return arrived[barrier] > 0 && ((came[barrier] >>> warp) & 1) != 0;
  }

  /** Returns how many warps the barrier waits for; {@link #ALL} = all live warps. */
  int expected(int barrier) {
    return expected[barrier];
  }

  /** Returns whether the warps that arrived combine a predicate. */
  boolean reduces(int barrier) {
    return reduces[barrier];
  }

  /**
   * Records the arrival of a warp.
   *
   * @param warp the number of the warp in the block
   * @param warps how many warps the barrier waits for
   * @param combine whether its threads combine a predicate
   * @param holding for how many of its threads the predicate holds
   * @param asked how many threads have a predicate
   */
  void arrive(int barrier, int warp, int warps, boolean combine, int holding, int asked) {
    if (arrived[barrier] == 0) {
      this.holding[barrier] = 0;
      this.asked[barrier] = 0;
      this.came[barrier] = 0;
    }
    came[barrier] |= 1 << warp;
    expected[barrier] = warps;
    reduces[barrier] = combine;
    arrived[barrier]++;
    this.holding[barrier] += holding;
    this.asked[barrier] += asked;
  }

  /** Opens a barrier if all expected warps have arrived; returns whether it did. */
  boolean opens(int barrier, int livingWarps) {
    int wanted = expected[barrier] == ALL ? livingWarps : expected[barrier];
    if (arrived[barrier] == 0 || arrived[barrier] < wanted) {
      return false;
    }
    arrived[barrier] = 0;
    return true;
  }

  /** Returns the combined predicate of a barrier that has opened. */
  int result(int barrier, BarrierKind kind) {
    return switch (kind) {
      case COUNT -> holding[barrier];
      case ALL -> holding[barrier] == asked[barrier] ? 1 : 0;
      case ANY -> holding[barrier] > 0 ? 1 : 0;
      case SYNC, ARRIVE -> throw new IllegalArgumentException(kind + " combines nothing");
    };
  }
}
