package dev.athanor.engine.emulator.sanitizer;

import java.util.Arrays;

/**
 * A sparse vector clock: for threads, and for warps as wholes, the time up to which what they did
 * is known, and up to which a proxy fence has made it known to asynchronous copies as well; for
 * agents that act beside the threads, how far they are known to be.
 */
final class SparseVectorClock {

  /** In place of a lane: all lanes of the warp. */
  static final int ALL = -1;

  /** The places of a cluster's warps. */
  private static final int MOST_WARPS = 512;

  /** Those, and those of the same behind a proxy fence for each {@link ProxyMemory}. */
  private static final int WARPS = 4 * MOST_WARPS;

  /** The places of a warp's lanes, and that of all of them. */
  private static final int LANES = 33;

  /** Nothing; is not to be changed. */
  static final SparseVectorClock NONE = new SparseVectorClock();

  private long[] keys = new long[8];
  private int[] times = new int[8];
  private int size;

  /**
   * What names a thread or, with {@link #ALL}, a warp.
   *
   * @param warp its number in its cluster
   */
  static long key(long cluster, int warp, int lane) {
    return (cluster * WARPS + warp) * LANES + lane + 2;
  }

  /** What names the same, as far as it is behind a proxy fence. */
  static long fencedKey(ProxyMemory memory, long cluster, int warp, int lane) {
    return key(cluster, memory.clock * MOST_WARPS + warp, lane);
  }

  /** What names an agent. */
  static long agent(long number) {
    return -1 - number;
  }

  /** Whatever is known is behind a proxy fence now. */
  void fence(ProxyMemory memory) {
    var known = copy();
    for (int i = 0; i < known.keys.length; i++) {
      long key = known.keys[i];
      if (key > 0 && (key - 1) / LANES % WARPS < MOST_WARPS) {
        raise(key + (long) memory.clock * MOST_WARPS * LANES, known.times[i]);
      }
    }
  }

  boolean isEmpty() {
    return size == 0;
  }

  /** The time of a key; 0 = nothing is known. */
  int of(long key) {
    int at = place(keys, key);
    return keys[at] == 0 ? 0 : times[at];
  }

  /** Whether what a thread did at some time is known. */
  boolean covers(long cluster, int warp, int lane, int time) {
    return size > 0
        && (of(key(cluster, warp, ALL)) >= time || of(key(cluster, warp, lane)) >= time);
  }

  void raise(long key, int time) {
    int at = place(keys, key);
    if (keys[at] == 0) {
      if (2 * size >= keys.length) {
        grow();
        at = place(keys, key);
      }
      keys[at] = key;
      size++;
    }
    times[at] = Math.max(times[at], time);
  }

  void join(SparseVectorClock other) {
    for (int i = 0; i < other.keys.length; i++) {
      if (other.keys[i] != 0) {
        raise(other.keys[i], other.times[i]);
      }
    }
  }

  SparseVectorClock copy() {
    var copy = new SparseVectorClock();
    copy.keys = keys.clone();
    copy.times = times.clone();
    copy.size = size;
    return copy;
  }

  void clear() {
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
        int at = place(keys, oldKeys[i]);
        keys[at] = oldKeys[i];
        times[at] = oldTimes[i];
      }
    }
  }

  /** Where a key is, or would be. */
  private static int place(long[] keys, long key) {
    int at = (int) ((key * 0x9E37_79B9_7F4A_7C15L) >>> 40) & (keys.length - 1);
    while (keys[at] != 0 && keys[at] != key) {
      at = (at + 1) & (keys.length - 1);
    }
    return at;
  }
}
