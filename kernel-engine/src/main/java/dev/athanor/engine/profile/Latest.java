package dev.athanor.engine.profile;

import org.jspecify.annotations.Nullable;

/**
 * The latest request of an instruction of a warp and what it cost. In loops the next is mostly the
 * same some multiples of 128 bytes further on, in which banks, sectors and lines repeat, and costs
 * the same.
 */
final class Latest<T> {

  private static final int PERIOD = 128;
  private static final long[] NONE = new long[32];

  private long[] addresses = NONE;
  private int mask;
  private @Nullable T cost;

  /** Returns the cost of a request that is like the latest; null if it is not. */
  @Nullable T cost(long[] now, int lanes) {
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

  /** How much further on than the latest a request begins that is like it. */
  long shift(long[] now) {
    int first = Integer.numberOfTrailingZeros(mask) & 31;
    return now[first] - addresses[first];
  }

  void keep(long[] now, int lanes, T costs) {
    if (cost == null) {
      addresses = now.clone();
    } else {
      System.arraycopy(now, 0, addresses, 0, addresses.length);
    }
    mask = lanes;
    cost = costs;
  }
}
