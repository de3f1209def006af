package dev.athanor.engine.profile;

import dev.athanor.engine.ptx.Warps;

/**
 * The banks of shared memory and the cost of a warp's request. Shared memory has 32 banks, word
 * {@code w} of 4 bytes lies in bank {@code w % 32}, and a bank gives one word a cycle, to as many
 * lanes as want it (CUDA programming guide, "Shared Memory" of compute capability 5 and later).
 *
 * <p>A request is served in phases of 128 bytes: 32 lanes of up to 4 bytes, 16 lanes of 8 bytes, 8
 * lanes of 16 bytes. {@code ldmatrix}, {@code stmatrix} and {@code cp.async} with rows or copies of
 * 16 bytes go in phases of 8. That phases are lanes side by side is what programmers have measured,
 * not what the guide says; a GPU may also join phases that read the same words. Each worker has its
 * own object.
 */
public final class Banks {

  private static final int LANES = Warps.SIZE;
  private static final int WORD = 4;
  private static final int CYCLE_BYTES = 128;

  /** In each bank the last lane that came with a word of its own, from 1; 0 = none. */
  private final int[] last = new int[LANES];

  /** The lane that came before a lane to the same bank, from 1. */
  private final int[] before = new int[LANES];

  private final int[] words = new int[LANES];

  /**
   * The cost of a request.
   *
   * @param actual wavefronts, which are cycles of shared memory
   * @param ideal wavefronts without bank conflicts: the phases that have an active lane
   * @param least wavefronts in whatever order the lanes are served: the most words of one bank
   * @param ways the most wavefronts of one phase; 2 is a "2-way conflict", 1 is none
   */
  public record Wavefronts(int actual, int ideal, int least, int ways) {}

  /**
   * The wavefronts of one request.
   *
   * @param offsets the byte where each of the 32 lanes begins, in shared memory
   * @param bytes of each lane: 1, 2, 4, 8 or 16, to which the offsets are aligned
   * @param mask the lanes that take part, lane 0 in the lowest bit
   * @param atomic whether lanes at one address have to wait for one another
   */
  public Wavefronts of(long[] offsets, int bytes, int mask, boolean atomic) {
    // lanes of 8 and 16 bytes occupy 2 and 4 neighbouring banks alike, which then count as one
    int unit = Math.max(WORD, bytes);
    int banks = CYCLE_BYTES / unit;
    int actual = 0;
    int ideal = 0;
    int ways = 0;
    for (int first = 0; first < LANES; first += banks) {
      int waves = most(offsets, unit, banks, mask & lanes(first, banks), atomic);
      actual += waves;
      ideal += waves > 0 ? 1 : 0;
      ways = Math.max(ways, waves);
    }
    int least = ideal <= 1 ? actual : most(offsets, unit, banks, mask, atomic);
    return new Wavefronts(actual, ideal, least, ways);
  }

  private static int lanes(int first, int count) {
    return count == LANES ? -1 : ((1 << count) - 1) << first;
  }

  /** The most different units that lanes want from one bank. */
  private int most(long[] offsets, int unit, int banks, int mask, boolean atomic) {
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
