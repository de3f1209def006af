package dev.athanor.engine.emulator.sanitizer;

import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who in a cluster knows of whose doings: vector clocks over warps, numbered through its blocks,
 * and over threads where the lanes of a warp know different things.
 *
 * <p>Each warp has a clock, which goes on with everything by which others may come to know of its
 * doings. What a proxy fence has made known to asynchronous copies has clocks of its own, which go
 * the same ways. Clocks never go back, not even from one cluster of a worker to the next, so that
 * what an earlier one did is known to all.
 */
final class VectorClocks {

  private static final ProxyMemory[] MEMORIES = ProxyMemory.values();

  /** What is known, and what of it is behind a fence. */
  private static final int PARTS = 1 + MEMORIES.length;

  private final int warps;
  private final int[] now;

  /**
   * For each warp up to when all its lanes know what all lanes of each warp did; behind that, up to
   * when they know it to be fenced.
   */
  private final int[][] seen;

  /** By memory, for each thread the time of its last proxy fence. */
  private final int[][] fenced;

  /** What all lanes of a warp know besides; shared, never changed. */
  private final SparseVectorClock[] common;

  /** What a thread alone knows. */
  private final @Nullable SparseVectorClock[] own;

  private final boolean[] anyOwn;

  /** Whether any thread has executed a proxy fence. */
  private boolean anyFence;

  private final int[][] barrierSeen;
  private final @Nullable SparseVectorClock[] barrierCommon;
  private long cluster;

  /**
   * @param warps of the whole cluster
   * @param barriers how many there are in it
   */
  VectorClocks(int warps, int barriers) {
    this.warps = warps;
    this.barrierSeen = new int[barriers][PARTS * warps];
    this.barrierCommon = new @Nullable SparseVectorClock[barriers];
    this.now = new int[warps];
    Arrays.fill(now, 1);
    this.seen = new int[warps][PARTS * warps];
    this.fenced = new int[PARTS][32 * warps];
    this.common = new SparseVectorClock[warps];
    this.own = new @Nullable SparseVectorClock[32 * warps];
    this.anyOwn = new boolean[warps];
  }

  void begin(long number) {
    cluster = number;
    int before = Arrays.stream(now).max().orElseThrow();
    Arrays.fill(now, before + 1);
    for (int[] each : seen) {
      Arrays.fill(each, before);
    }
    for (int[] each : fenced) {
      Arrays.fill(each, before);
    }
    anyFence = false;
    Arrays.fill(common, SparseVectorClock.NONE);
    Arrays.fill(own, null);
    Arrays.fill(anyOwn, false);
    for (int[] each : barrierSeen) {
      Arrays.fill(each, 0);
    }
    Arrays.fill(barrierCommon, null);
  }

  /** The time of a warp. */
  int now(int warp) {
    return now[warp];
  }

  /** What a warp does from now on is not known to those that learnt what it did before. */
  void tick(int warp) {
    now[warp]++;
  }

  /** Up to when all lanes of a warp know what all lanes of each warp of the block did. */
  int[] seen(int warp) {
    return seen[warp];
  }

  /** Up to when all lanes of a warp know what each warp did to be behind a proxy fence. */
  int[] fenced(int warp, ProxyMemory memory) {
    return Arrays.copyOfRange(seen[warp], place(memory, 0), place(memory, warps));
  }

  /** Where it is kept up to when a warp's doings are behind a fence. */
  private int place(ProxyMemory memory, int warp) {
    return memory.clock * warps + warp;
  }

  /** Whether a thread knows what a thread did, which is not itself. */
  boolean knows(int warp, int lane, long otherCluster, int otherWarp, int otherLane, int time) {
    if (otherCluster == cluster && time <= seen[warp][otherWarp]) {
      return true;
    }
    var alone = own[32 * warp + lane];
    return common[warp].covers(otherCluster, otherWarp, otherLane, time)
        || (alone != null && alone.covers(otherCluster, otherWarp, otherLane, time));
  }

  /**
   * Whether a thread knows that what a thread did is behind a proxy fence, itself or another one.
   */
  boolean knowsFenced(
      ProxyMemory memory,
      int warp,
      int lane,
      long otherCluster,
      int otherWarp,
      int otherLane,
      int time) {
    boolean own = otherWarp == warp && otherLane == lane;
    if (otherCluster == cluster
        && (time <= seen[warp][place(memory, otherWarp)]
            || (own && time <= fenced[memory.clock][32 * warp + lane]))) {
      return true;
    }
    long all = SparseVectorClock.fencedKey(memory, otherCluster, otherWarp, SparseVectorClock.ALL);
    long one = SparseVectorClock.fencedKey(memory, otherCluster, otherWarp, otherLane);
    return knows(warp, lane, all) >= time || knows(warp, lane, one) >= time;
  }

  /** How far a thread knows an agent, or whatever a key names, to be. */
  int knows(int warp, int lane, long key) {
    var alone = own[32 * warp + lane];
    return Math.max(common[warp].of(key), alone == null ? 0 : alone.of(key));
  }

  /** A proxy fence: what these threads know what goes on beside them knows as well. */
  void fenceProxies(int warp, int lanes, Set<ProxyMemory> memories) {
    anyFence = true;
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var known = common[warp].copy();
      var alone = own[32 * warp + lane];
      if (alone != null) {
        known.join(alone);
      }
      for (var memory : memories) {
        fenced[memory.clock][32 * warp + lane] = now[warp];
        known.fence(memory);
        for (int other = 0; other < warps; other++) {
          if (seen[warp][other] > seen[warp][place(memory, other)]) {
            known.raise(
                SparseVectorClock.fencedKey(memory, cluster, other, SparseVectorClock.ALL),
                seen[warp][other]);
          }
        }
      }
      own[32 * warp + lane] = known;
    }
    anyOwn[warp] = true;
    tick(warp);
  }

  /** {@code bar.warp.sync}: lanes of a warp tell one another everything. */
  void synchronize(int warp, int lanes, int live) {
    var joined = common[warp];
    if (anyOwn[warp]) {
      joined = joined.copy();
      for (int left = lanes; left != 0; left &= left - 1) {
        var alone = own[32 * warp + Integer.numberOfTrailingZeros(left)];
        if (alone != null) {
          joined.join(alone);
        }
      }
    }
    joined = withFences(warp, lanes, joined);
    if ((live & ~lanes) == 0) {
      common[warp] = joined;
      seen[warp][warp] = now[warp];
      forget(warp);
    } else {
      joined = joined.copy();
      for (int left = lanes; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        joined.raise(SparseVectorClock.key(cluster, warp, lane), now[warp]);
      }
      for (int left = lanes; left != 0; left &= left - 1) {
        own[32 * warp + Integer.numberOfTrailingZeros(left)] = joined.copy();
      }
      anyOwn[warp] = true;
    }
    tick(warp);
  }

  private void forget(int warp) {
    if (anyOwn[warp]) {
      Arrays.fill(own, 32 * warp, 32 * warp + 32, null);
      anyOwn[warp] = false;
    }
  }

  /** A warp comes to a barrier, and all that it knows with it. */
  void arrive(int barrier, int warp) {
    int[] known = barrierSeen[barrier];
    int[] brought = seen[warp];
    for (int i = 0; i < known.length; i++) {
      known[i] = Math.max(known[i], brought[i]);
    }
    known[warp] = now[warp];
    var joined = barrierCommon[barrier];
    if (joined == null) {
      joined = common[warp];
    } else if (joined != common[warp] && !common[warp].isEmpty()) {
      joined = joined.copy();
      joined.join(common[warp]);
    }
    if (anyOwn[warp]) {
      joined = joined.copy();
      for (int lane = 0; lane < 32; lane++) {
        var alone = own[32 * warp + lane];
        if (alone != null) {
          joined.join(alone);
        }
      }
    }
    barrierCommon[barrier] = withFences(warp, -1, joined);
    tick(warp);
  }

  /** Knowledge with what some lanes of a warp have fenced; it is not changed itself. */
  private SparseVectorClock withFences(int warp, int lanes, SparseVectorClock known) {
    var joined = known;
    for (int left = anyFence ? lanes : 0; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      for (var memory : MEMORIES) {
        int time = fenced[memory.clock][32 * warp + lane];
        long key = SparseVectorClock.fencedKey(memory, cluster, warp, lane);
        if (time > seen[warp][place(memory, warp)] && joined.of(key) < time) {
          joined = joined == known ? known.copy() : joined;
          joined.raise(key, time);
        }
      }
    }
    return joined;
  }

  /** A warp that came to a barrier, and that it has let go on, learns what was brought there. */
  void leave(int barrier, int warp) {
    int[] known = barrierSeen[barrier];
    for (int i = 0; i < known.length; i++) {
      seen[warp][i] = Math.max(seen[warp][i], known[i]);
    }
    var joined = barrierCommon[barrier];
    if (joined != null) {
      common[warp] = joined;
    }
    forget(warp);
  }

  /** A barrier forgets what was brought to it. */
  void clear(int barrier) {
    Arrays.fill(barrierSeen[barrier], 0);
    barrierCommon[barrier] = null;
  }

  /** What a thread knows at some time. */
  static final class Moment {

    /** What its warp knows of others, as {@link #seen}. */
    private final int[] seen;

    /** What its warp knows besides. */
    private final SparseVectorClock common;

    /** What it knows alone; null = nothing. */
    private final @Nullable SparseVectorClock own;

    /** By {@link ProxyMemory}, the time of its last proxy fence. */
    private final int[] fenced;

    /** The time up to which its own doings are told. */
    private final int upTo;

    private Moment(
        int[] seen,
        SparseVectorClock common,
        @Nullable SparseVectorClock own,
        int[] fenced,
        int upTo) {
      this.seen = seen;
      this.common = common;
      this.own = own;
      this.fenced = fenced;
      this.upTo = upTo;
    }
  }

  /**
   * What a thread knows now.
   *
   * @param known a copy of what its warp has seen, which may be that of several threads
   */
  Moment moment(int warp, int lane, int[] known) {
    var alone = own[32 * warp + lane];
    int[] fences = new int[PARTS];
    for (int part = 0; part < PARTS; part++) {
      fences[part] = fenced[part][32 * warp + lane];
    }
    return new Moment(known, common[warp], alone == null ? null : alone.copy(), fences, now[warp]);
  }

  /** Hands on what a thread knows now. */
  void publish(int warp, int lane, SparseVectorClock to) {
    publish(warp, lane, moment(warp, lane, seen[warp]), to);
  }

  /** Hands on what a thread knew; answers to whom. */
  SparseVectorClock publish(int warp, int lane, Moment known, SparseVectorClock to) {
    for (int other = 0; other < warps; other++) {
      to.raise(SparseVectorClock.key(cluster, other, SparseVectorClock.ALL), known.seen[other]);
      for (var memory : MEMORIES) {
        if (anyFence) {
          to.raise(
              SparseVectorClock.fencedKey(memory, cluster, other, SparseVectorClock.ALL),
              known.seen[place(memory, other)]);
        }
      }
    }
    to.join(known.common);
    if (known.own != null) {
      to.join(known.own);
    }
    to.raise(SparseVectorClock.key(cluster, warp, lane), known.upTo);
    for (var memory : MEMORIES) {
      if (anyFence) {
        to.raise(
            SparseVectorClock.fencedKey(memory, cluster, warp, lane),
            Math.min(known.upTo, known.fenced[memory.clock]));
      }
    }
    return to;
  }

  private static void learn(int[] known, int at, SparseVectorClock news, long key) {
    known[at] = Math.max(known[at], news.of(key));
  }

  /** Some threads of a warp come to know something. */
  void learn(int warp, int lanes, int live, SparseVectorClock news) {
    if (news.isEmpty()) {
      return;
    }
    if ((live & ~lanes) != 0) {
      for (int left = lanes; left != 0; left &= left - 1) {
        learn(warp, Integer.numberOfTrailingZeros(left), news);
      }
      return;
    }
    var known = common[warp].copy();
    known.join(news);
    common[warp] = known;
    for (int other = 0; other < warps; other++) {
      learn(seen[warp], other, news, SparseVectorClock.key(cluster, other, SparseVectorClock.ALL));
      for (var memory : MEMORIES) {
        long all = SparseVectorClock.fencedKey(memory, cluster, other, SparseVectorClock.ALL);
        learn(seen[warp], place(memory, other), news, all);
      }
    }
  }

  /** A thread comes to know something. */
  void learn(int warp, int lane, SparseVectorClock news) {
    if (news.isEmpty()) {
      return;
    }
    var alone = own[32 * warp + lane];
    if (alone == null) {
      own[32 * warp + lane] = news.copy();
      anyOwn[warp] = true;
    } else {
      alone.join(news);
    }
  }
}
