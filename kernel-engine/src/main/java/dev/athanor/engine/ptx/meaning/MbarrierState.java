package dev.athanor.engine.ptx.meaning;

/**
 * How an mbarrier is written into its 8 bytes and into what an arrival answers. The manual leaves
 * this open; it is our own: from the low end 21 bits of the bytes still to come, signed, 20 bits
 * each of arrivals still to come and of those expected in a phase, and 3 bits of the number of the
 * phase.
 */
public final class MbarrierState {

  /** The most arrivals that a barrier counts (PTX ISA 9.7.13.15.1). */
  public static final int MOST_ARRIVALS = (1 << 20) - 1;

  /** The most bytes, one way or the other. */
  public static final int MOST_BYTES = (1 << 20) - 1;

  private static final int BYTES_BITS = 21;
  private static final int COUNT_BITS = 20;

  private MbarrierState() {}

  /** The state with these numbers. */
  public static long of(long phase, int expected, int pending, int bytes) {
    return (phase << (BYTES_BITS + 2 * COUNT_BITS))
        | ((long) expected << (BYTES_BITS + COUNT_BITS))
        | ((long) pending << BYTES_BITS)
        | (bytes & ((1L << BYTES_BITS) - 1));
  }

  /** The phase, of which three bits are kept. */
  public static int phase(long state) {
    return (int) (state >>> (BYTES_BITS + 2 * COUNT_BITS));
  }

  /** The arrivals still to come. */
  public static int pending(long state) {
    return (int) (state >>> BYTES_BITS) & MOST_ARRIVALS;
  }
}
