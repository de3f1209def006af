package dev.athanor.engine.ptx.meaning;

/**
 * The encoding of an mbarrier in its 8 bytes and in the state that an arrival returns. The manual
 * leaves it open; this is the emulator's. From the low end: 21 bits of pending transaction bytes,
 * signed; 20 bits of pending arrivals; 20 bits of expected arrivals per phase; 3 bits of the phase
 * number.
 */
public final class MbarrierState {

  /** Maximum arrival count of an mbarrier (PTX ISA 9.7.13.15.1). */
  public static final int MAX_ARRIVALS = (1 << 20) - 1;

  /** Maximum magnitude of the pending transaction bytes. */
  public static final int MAX_TRANSACTION_BYTES = (1 << 20) - 1;

  private static final int BYTES_BITS = 21;
  private static final int COUNT_BITS = 20;

  private MbarrierState() {}

  /** Returns the encoded state. */
  public static long of(long phase, int expected, int pending, int bytes) {
    return (phase << (BYTES_BITS + 2 * COUNT_BITS))
        | ((long) expected << (BYTES_BITS + COUNT_BITS))
        | ((long) pending << BYTES_BITS)
        | (bytes & ((1L << BYTES_BITS) - 1));
  }

  /** Returns the low three bits of the phase number. */
  public static int phase(long state) {
    return (int) (state >>> (BYTES_BITS + 2 * COUNT_BITS));
  }

  /** Returns the pending arrivals. */
  public static int pending(long state) {
    return (int) (state >>> BYTES_BITS) & MAX_ARRIVALS;
  }
}
