package dev.athanor.engine.profile;

import dev.athanor.engine.ptx.Warps;

/**
 * The banks of shared memory and the cost of a warp's request. Shared memory has 32 banks; the
 * 4-byte word {@code w} is in bank {@code w % 32}. A bank delivers one word per cycle to any number
 * of lanes (CUDA programming guide, "Shared Memory" of compute capability 5 and later).
 *
 * <p>A request is served in phases of 128 bytes: 32 lanes of up to 4 bytes, 16 lanes of 8 bytes, or
 * 8 lanes of 16 bytes; {@code ldmatrix}, {@code stmatrix} and 16-byte {@code cp.async} also use
 * phases of 8 lanes. That a phase serves adjacent lanes is measured, not documented; a GPU may also
 * merge phases that read the same words. Each worker has its own instance.
 */
public final class Banks {

  private static final int LANES = Warps.SIZE;
  private static final int WORD = 4;
  private static final int CYCLE_BYTES = 128;

  /** For each bank, the last lane with a new word, counted from 1; 0 = none. */
  private final int[] last = new int[LANES];

  /** For each lane, the previous lane with a new word in the same bank, counted from 1. */
  private final int[] before = new int[LANES];

  private final int[] words = new int[LANES];

  /**
   * The cost of a request.
   *
   * @param actual wavefronts, which are cycles of shared memory
   * @param ideal wavefronts without bank conflicts: the number of phases with an active lane
   * @param minimum minimum wavefronts over all orders of lanes: the maximum number of words in one
   *     bank
   * @param ways maximum wavefronts of a phase; 2 is a "2-way conflict", 1 is none
   */
  public record Wavefronts(int actual, int ideal, int minimum, int ways) {}

  /**
   * Returns the wavefronts of a request.
   *
   * @param offsets byte offset of each of the 32 lanes in shared memory
   * @param bytes bytes per lane: 1, 2, 4, 8 or 16; the offsets are aligned to it
   * @param mask active lanes, lane 0 in the lowest bit
   * @param atomic whether lanes at one address are serialized
   */
  public Wavefronts of(long[] offsets, int bytes, int mask, boolean atomic) {
    // lanes of 8 and 16 bytes occupy 2 and 4 adjacent banks, which then count as one
    int unit = Math.max(WORD, bytes);
    int banks = CYCLE_BYTES / unit;
    int actual = 0;
    int ideal = 0;
    int ways = 0;
    for (int first = 0; first < LANES; first += banks) {
      int waves = maxDistinctUnits(offsets, unit, banks, mask & lanes(first, banks), atomic);
      actual += waves;
      ideal += waves > 0 ? 1 : 0;
      ways = Math.max(ways, waves);
    }
    int least = ideal <= 1 ? actual : maxDistinctUnits(offsets, unit, banks, mask, atomic);
    return new Wavefronts(actual, ideal, least, ways);
  }

  private static int lanes(int first, int count) {
    return count == LANES ? -1 : ((1 << count) - 1) << first;
  }

  /** Returns the maximum number of different units that lanes request from one bank. */
  private int maxDistinctUnits(long[] offsets, int unit, int banks, int mask, boolean atomic) {
    for (int bank = 0; bank < banks; bank++) {
      last[bank] = 0;
      words[bank] = 0;
    }
    int most = 0;
    for (int left = mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      long own = offsets[lane] / unit;
      int bank = (int) (own % banks);
      int other = last[bank];
      while (other != 0 && (atomic || offsets[other - 1] / unit != own)) {
        other = before[other - 1];
      }
      if (other == 0) {
        before[lane] = last[bank];
        last[bank] = lane + 1;
        most = Math.max(most, ++words[bank]);
      }
    }
    return most;
  }
}
