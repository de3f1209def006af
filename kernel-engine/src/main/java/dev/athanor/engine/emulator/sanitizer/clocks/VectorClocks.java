package dev.athanor.engine.emulator.sanitizer.clocks;

import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The happens-before relation between the warps of a cluster, as vector clocks; between its threads
 * where the lanes of a warp have synchronized with different threads. Warps are numbered through
 * the blocks of the cluster.
 *
 * <p>Each warp has a clock, which advances with every event that others may synchronize with. A
 * second set of clocks tracks what a proxy fence has made visible to the async proxy; it propagates
 * along the same events. Clocks never go back, not even between two clusters of a worker, so that
 * all events of an earlier cluster happen before those of a later one.
 *
 * <p>A thread <em>knows</em> the events that happen before its next event.
 */
public final class VectorClocks {

  private static final ProxyMemory[] MEMORIES = ProxyMemory.values();

  /** The clock of all accesses, and one for each memory behind a proxy fence. */
  private static final int PARTS = 1 + MEMORIES.length;

  private final int warps;
  private final int[] now;

  /**
   * For each warp the times up to which all its lanes know the events of each warp; then, for each
   * memory, the times up to which they know these events to be behind a proxy fence.
   */
  private final int[][] seen;

  /** By memory, for each thread the time of its last proxy fence. */
  private final int[][] fenced;

  /** By warp, all other events that all its lanes know. The clocks are shared and never changed. */
  private final SparseVectorClock[] common;

  /** By thread, events that it knows and the other lanes of its warp may not know; null = none. */
  private final @Nullable SparseVectorClock[] own;

  private final boolean[] anyOwn;

  /** Whether any thread has executed a proxy fence. */
  private boolean anyFence;

  private final int[][] barrierSeen;
  private final @Nullable SparseVectorClock[] barrierCommon;
  private long cluster;

  /**
   * @param warps of the whole cluster
   * @param barriers of the whole cluster
   */
  public VectorClocks(int warps, int barriers) {
    this.warps = warps;
    this.barrierSeen = new int[barriers][PARTS * warps];
    this.barrierCommon = new @Nullable SparseVectorClock[barriers];
    this.now = new int[warps];
    Arrays.fill(now, 1);
    this.seen = new int[warps][PARTS * warps];
    this.fenced = new int[PARTS][Warps.SIZE * warps];
    this.common = new SparseVectorClock[warps];
    this.own = new @Nullable SparseVectorClock[Warps.SIZE * warps];
    this.anyOwn = new boolean[warps];
  }

  /** Begins a cluster of the grid, without any synchronization between its warps. */
  public void begin(long number) {
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

  /** Returns the time of a warp. */
  public int now(int warp) {
    return now[warp];
  }

  /** Advances the clock of a warp: its next accesses happen after its last event. */
  public void tick(int warp) {
    now[warp]++;
  }

  /**
   * Returns the times up to which all lanes of a warp know the events of each warp. The array
   * changes with the clocks.
   */
  public int[] seen(int warp) {
    return seen[warp];
  }

  /** Returns the times up to which they know these events to be behind a proxy fence. */
  public int[] fenced(int warp, ProxyMemory memory) {
    return Arrays.copyOfRange(seen[warp], index(memory, 0), index(memory, warps));
  }

  private int index(ProxyMemory memory, int warp) {
    return memory.clock * warps + warp;
  }

  /** Returns whether a thread knows the events of another thread up to a time. */
  public boolean knows(
      int warp, int lane, long otherCluster, int otherWarp, int otherLane, int time) {
    if (otherCluster == cluster && time <= seen[warp][otherWarp]) {
      return true;
    }
    var alone = own[Warps.thread(warp, lane)];
    return common[warp].covers(otherCluster, otherWarp, otherLane, time)
        || (alone != null && alone.covers(otherCluster, otherWarp, otherLane, time));
  }

  /**
   * Returns whether a thread knows the events of a thread of its cluster up to a time.
   *
   * @param other its number in the cluster; may be the thread itself
   */
  public boolean knowsThread(int warp, int lane, int other, int time) {
    return other == Warps.thread(warp, lane)
        || knows(warp, lane, cluster, Warps.warpOf(other), Warps.laneOf(other), time);
  }

  /**
   * Returns whether a thread knows that the events of a thread, which may be itself, are behind a
   * proxy fence up to a time.
   */
  public boolean knowsFenced(
      ProxyMemory memory,
      int warp,
      int lane,
      long otherCluster,
      int otherWarp,
      int otherLane,
      int time) {
    boolean own = otherWarp == warp && otherLane == lane;
    if (otherCluster == cluster
        && (time <= seen[warp][index(memory, otherWarp)]
            || (own && time <= fenced[memory.clock][Warps.thread(warp, lane)]))) {
      return true;
    }
    long all = SparseVectorClock.fencedKey(memory, otherCluster, otherWarp, SparseVectorClock.ALL);
    long one = SparseVectorClock.fencedKey(memory, otherCluster, otherWarp, otherLane);
    return knows(warp, lane, all) >= time || knows(warp, lane, one) >= time;
  }

  /** Returns the time of an agent, or of another key, that a thread knows. */
  public int knows(int warp, int lane, long key) {
    var alone = own[Warps.thread(warp, lane)];
    return Math.max(common[warp].of(key), alone == null ? 0 : alone.of(key));
  }

  /** A proxy fence: makes the events that these threads know visible to the async proxy. */
  public void fenceProxies(int warp, int lanes, Set<ProxyMemory> memories) {
    anyFence = true;
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var known = common[warp].copy();
      var alone = own[Warps.thread(warp, lane)];
      if (alone != null) {
        known.join(alone);
      }
      for (var memory : memories) {
        fenced[memory.clock][Warps.thread(warp, lane)] = now[warp];
        known.fence(memory);
        for (int other = 0; other < warps; other++) {
          if (seen[warp][other] > seen[warp][index(memory, other)]) {
            known.raise(
                SparseVectorClock.fencedKey(memory, cluster, other, SparseVectorClock.ALL),
                seen[warp][other]);
          }
        }
      }
      own[Warps.thread(warp, lane)] = known;
    }
    anyOwn[warp] = true;
    tick(warp);
  }

  /** {@code bar.warp.sync}: lanes of a warp synchronize with one another. */
  public void synchronize(int warp, int lanes, int live) {
    var joined = common[warp];
    if (anyOwn[warp]) {
      joined = joined.copy();
      for (int left = lanes; left != 0; left &= left - 1) {
        var alone = own[Warps.firstThread(warp, left)];
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
        own[Warps.firstThread(warp, left)] = joined.copy();
      }
      anyOwn[warp] = true;
    }
    tick(warp);
  }

  private void forget(int warp) {
    if (anyOwn[warp]) {
      Arrays.fill(own, Warps.SIZE * warp, Warps.SIZE * (warp + 1), null);
      anyOwn[warp] = false;
    }
  }

  /** A warp arrives at a barrier and publishes its knowledge there. */
  public void arrive(int barrier, int warp) {
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
      for (int lane = 0; lane < Warps.SIZE; lane++) {
        var alone = own[Warps.thread(warp, lane)];
        if (alone != null) {
          joined.join(alone);
        }
      }
    }
    barrierCommon[barrier] = withFences(warp, -1, joined);
    tick(warp);
  }

  /** Returns a clock with the proxy fences of some lanes added. Does not change its argument. */
  private SparseVectorClock withFences(int warp, int lanes, SparseVectorClock known) {
    var joined = known;
    for (int left = anyFence ? lanes : 0; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      for (var memory : MEMORIES) {
        int time = fenced[memory.clock][Warps.thread(warp, lane)];
        long key = SparseVectorClock.fencedKey(memory, cluster, warp, lane);
        if (time > seen[warp][index(memory, warp)] && joined.of(key) < time) {
          joined = joined == known ? known.copy() : joined;
          joined.raise(key, time);
        }
      }
    }
    return joined;
  }

  /** A warp leaves a barrier and acquires the knowledge of all warps that arrived. */
  public void leave(int barrier, int warp) {
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

  /** Resets a barrier. */
  public void clear(int barrier) {
    Arrays.fill(barrierSeen[barrier], 0);
    barrierCommon[barrier] = null;
  }

  /** The knowledge of a thread at some time. */
  public static final class Moment {

    /** The knowledge of its warp, as in {@link #seen}. */
    private final int[] seen;

    /** The other events that its warp knows. */
    private final SparseVectorClock common;

    /** Events that only the thread knows; null = none. */
    private final @Nullable SparseVectorClock own;

    /** By {@link ProxyMemory}, the time of its last proxy fence. */
    private final int[] fenced;

    /** The time up to which it publishes its own events. */
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
   * Returns the current knowledge of a thread.
   *
   * @param known a copy of {@link #seen}, which several threads of the warp may share
   */
  public Moment moment(int warp, int lane, int[] known) {
    var alone = own[Warps.thread(warp, lane)];
    int[] fences = new int[PARTS];
    for (int part = 0; part < PARTS; part++) {
      fences[part] = fenced[part][Warps.thread(warp, lane)];
    }
    return new Moment(known, common[warp], alone == null ? null : alone.copy(), fences, now[warp]);
  }

  /** Adds the current knowledge of a thread to a clock. */
  public void publish(int warp, int lane, SparseVectorClock to) {
    publish(warp, lane, moment(warp, lane, seen[warp]), to);
  }

  /** Adds the earlier knowledge of a thread to a clock, and returns that clock. */
  public SparseVectorClock publish(int warp, int lane, Moment known, SparseVectorClock to) {
    for (int other = 0; other < warps; other++) {
      to.raise(SparseVectorClock.key(cluster, other, SparseVectorClock.ALL), known.seen[other]);
      for (var memory : MEMORIES) {
        if (anyFence) {
          to.raise(
              SparseVectorClock.fencedKey(memory, cluster, other, SparseVectorClock.ALL),
              known.seen[index(memory, other)]);
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

  private static void raise(int[] known, int at, SparseVectorClock clock, long key) {
    known[at] = Math.max(known[at], clock.of(key));
  }

  /** Some threads of a warp acquire a clock: they know all events that it covers. */
  public void acquire(int warp, int lanes, int live, SparseVectorClock clock) {
    if (clock.isEmpty()) {
      return;
    }
    if ((live & ~lanes) != 0) {
      for (int left = lanes; left != 0; left &= left - 1) {
        acquire(warp, Integer.numberOfTrailingZeros(left), clock);
      }
      return;
    }
    var known = common[warp].copy();
    known.join(clock);
    common[warp] = known;
    for (int other = 0; other < warps; other++) {
      raise(seen[warp], other, clock, SparseVectorClock.key(cluster, other, SparseVectorClock.ALL));
      for (var memory : MEMORIES) {
        long all = SparseVectorClock.fencedKey(memory, cluster, other, SparseVectorClock.ALL);
        raise(seen[warp], index(memory, other), clock, all);
      }
    }
  }

  /** A thread acquires a clock: it knows all events that the clock covers. */
  public void acquire(int warp, int lane, SparseVectorClock clock) {
    if (clock.isEmpty()) {
      return;
    }
    var alone = own[Warps.thread(warp, lane)];
    if (alone == null) {
      own[Warps.thread(warp, lane)] = clock.copy();
      anyOwn[warp] = true;
    } else {
      alone.join(clock);
    }
  }
}
