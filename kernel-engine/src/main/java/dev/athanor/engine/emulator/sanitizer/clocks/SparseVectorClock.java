package dev.athanor.engine.emulator.sanitizer.clocks;

import java.util.Arrays;

/**
 * A sparse vector clock. It has entries for threads, for whole warps, for both behind a proxy
 * fence, and for agents: everything else that makes progress, such as the phases of an mbarrier. A
 * missing entry is 0.
 */
public final class SparseVectorClock {

  /** Denotes all lanes of a warp, in place of a lane. */
  public static final int ALL = -1;

  /** The maximum number of warps of a cluster. */
  private static final int MAX_WARPS = 512;

  /**
   * A bound on the warp keys: the warps, and again those behind a fence of each {@link
   * ProxyMemory}.
   */
  private static final int WARPS = 4 * MAX_WARPS;

  /** The lanes of a warp and {@link #ALL}. */
  private static final int LANES = 33;

  /** The empty clock. Do not change it. */
  public static final SparseVectorClock NONE = new SparseVectorClock();

  private long[] keys = new long[8];
  private int[] times = new int[8];
  private int size;

  /**
   * Returns the key of a thread or, with {@link #ALL}, of a warp.
   *
   * @param warp its number in its cluster
   */
  static long key(long cluster, int warp, int lane) {
    return (cluster * WARPS + warp) * LANES + lane + 2;
  }

  /** Returns the key of the same thread or warp behind a proxy fence. */
  static long fencedKey(ProxyMemory memory, long cluster, int warp, int lane) {
    return key(cluster, memory.clock * MAX_WARPS + warp, lane);
  }

  /** Returns the key of an agent. */
  public static long agent(long number) {
    return -1 - number;
  }

  /** Adds for each entry the one behind a proxy fence, with the same time. */
  void fence(ProxyMemory memory) {
    var known = copy();
    for (int i = 0; i < known.keys.length; i++) {
      long key = known.keys[i];
      if (key > 0 && (key - 1) / LANES % WARPS < MAX_WARPS) {
        raise(key + (long) memory.clock * MAX_WARPS * LANES, known.times[i]);
      }
    }
  }

  public boolean isEmpty() {
    return size == 0;
  }

  /** Returns the time of a key; 0 = no entry. */
  int of(long key) {
    int at = slot(keys, key);
    return keys[at] == 0 ? 0 : times[at];
  }

  /** Returns whether this clock covers the events of a thread up to a time. */
  public boolean covers(long cluster, int warp, int lane, int time) {
    return size > 0
        && (of(key(cluster, warp, ALL)) >= time || of(key(cluster, warp, lane)) >= time);
  }

  /** Raises an entry to a time; does nothing if it is as late already. */
  public void raise(long key, int time) {
    int at = slot(keys, key);
    if (keys[at] == 0) {
      if (2 * size >= keys.length) {
        grow();
        at = slot(keys, key);
      }
      keys[at] = key;
      size++;
    }
    times[at] = Math.max(times[at], time);
  }

  /** Raises every entry to that of another clock. */
  public void join(SparseVectorClock other) {
    for (int i = 0; i < other.keys.length; i++) {
      if (other.keys[i] != 0) {
        raise(other.keys[i], other.times[i]);
      }
    }
  }

  public SparseVectorClock copy() {
    var copy = new SparseVectorClock();
    copy.keys = keys.clone();
    copy.times = times.clone();
    copy.size = size;
    return copy;
  }

  public void clear() {
    Arrays.fill(keys, 0);
    Arrays.fill(times, 0);
    size = 0;
  }

  private void grow() {
    var oldKeys = keys;
    var oldTimes = times;
    keys = new long[2 * oldKeys.length];
    times = new int[keys.length];
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldKeys[i] != 0) {
        int at = slot(keys, oldKeys[i]);
        keys[at] = oldKeys[i];
        times[at] = oldTimes[i];
      }
    }
  }

  /** Returns the slot of a key, or the free slot for it. */
  private static int slot(long[] keys, long key) {
    int at = (int) ((key * 0x9E37_79B9_7F4A_7C15L) >>> 40) & (keys.length - 1);
    while (keys[at] != 0 && keys[at] != key) {
      at = (at + 1) & (keys.length - 1);
    }
    return at;
  }
}
