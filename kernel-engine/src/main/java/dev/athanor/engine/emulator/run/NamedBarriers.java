package dev.athanor.engine.emulator.run;

import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Semantics.BarrierKind;
import java.util.Arrays;

/**
 * The sixteen barriers of a block (PTX ISA 9.7.13.1). Whole warps come to one, and it opens when as
 * many have come as it waits for; then it is as new.
 */
public final class NamedBarriers {

  public static final int COUNT = Observer.BARRIERS;

  /** The number of warps of a barrier that waits for all that live. */
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

  /** How many warps have come since it last opened. */
  int arrived(int barrier) {
    return arrived[barrier];
  }

  /** Whether a warp has come since it last opened. */
  boolean has(int barrier, int warp) {
    return arrived[barrier] > 0 && ((came[barrier] >>> warp) & 1) != 0;
  }

  /** How many warps it waits for, {@link #ALL} for all. */
  int expected(int barrier) {
    return expected[barrier];
  }

  /** Whether those that came before combine a predicate, or do not. */
  boolean reduces(int barrier) {
    return reduces[barrier];
  }

  /**
   * A warp comes.
   *
   * @param warp its number in the block
   * @param warps how many the barrier waits for
   * @param combine whether its threads combine a predicate
   * @param holding for how many of its threads the predicate holds
   * @param asked how many threads have one
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

  /** Opens a barrier if all have come; answers whether it did. */
  boolean opens(int barrier, int livingWarps) {
    int wanted = expected[barrier] == ALL ? livingWarps : expected[barrier];
    if (arrived[barrier] == 0 || arrived[barrier] < wanted) {
      return false;
    }
    arrived[barrier] = 0;
    return true;
  }

  /** What the threads learn that combined a predicate at a barrier that has opened. */
  int result(int barrier, BarrierKind kind) {
    return switch (kind) {
      case COUNT -> holding[barrier];
      case ALL -> holding[barrier] == asked[barrier] ? 1 : 0;
      case ANY -> holding[barrier] > 0 ? 1 : 0;
      case SYNC, ARRIVE -> throw new IllegalArgumentException(kind + " combines nothing");
    };
  }
}
