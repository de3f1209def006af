package dev.athanor.engine.profile;

import org.jspecify.annotations.Nullable;

/**
 * The last request of an instruction in a warp, with its cost. In loops, the next request is
 * usually the same at a multiple of 128 bytes further on. Banks, sectors and lines repeat there, so
 * the cost is the same.
 */
final class LastRequestCache<T> {

  private static final int PERIOD = 128;
  private static final long[] NONE = new long[32];

  private long[] addresses = NONE;
  private int mask;
  private @Nullable T cost;

  /** Returns the cost of a request; null if it differs from the last one by more than a shift. */
  @Nullable T find(long[] now, int lanes) {
    if (lanes != mask) {
      return null;
    }
    long shift = shift(now);
    if (shift % PERIOD != 0) {
      return null;
    }
    if (lanes == -1) {
      long difference = 0;
      for (int lane = 0; lane < 32; lane++) {
        difference |= now[lane] - addresses[lane] ^ shift;
      }
      return difference == 0 ? cost : null;
    }
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      if (now[lane] - addresses[lane] != shift) {
        return null;
      }
    }
    return cost;
  }

  /** Returns the distance of a request from the last one in bytes. */
  long shift(long[] now) {
    int first = Integer.numberOfTrailingZeros(mask) & 31;
    return now[first] - addresses[first];
  }

  void put(long[] now, int lanes, T costs) {
    if (cost == null) {
      addresses = now.clone();
    } else {
      System.arraycopy(now, 0, addresses, 0, addresses.length);
    }
    mask = lanes;
    cost = costs;
  }
}
