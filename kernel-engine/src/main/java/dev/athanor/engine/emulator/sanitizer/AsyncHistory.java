package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The asynchronous operations of a cluster and the mbarriers that they signal. Threads are numbered
 * through the cluster.
 */
final class AsyncHistory {

  /** The valid mbarriers in one memory, by their offsets. */
  static final class LiveMbarriers {
    private final Map<Long, ObservedMbarrier> all = new HashMap<>();

    boolean isEmpty() {
      return all.isEmpty();
    }

    Collection<ObservedMbarrier> all() {
      return all.values();
    }

    /** Returns whether some bytes overlap an mbarrier. */
    boolean overlaps(long offset, int bytes) {
      if (all.isEmpty()) {
        return false;
      }
      for (long at = offset & -Long.BYTES; at < offset + bytes; at += Long.BYTES) {
        if (all.containsKey(at)) {
          return true;
        }
      }
      return false;
    }
  }

  private final VectorClocks clocks;

  /** Numbers the agents of the launch. */
  private final AtomicLong agentNumbers;

  private final List<AsyncAccess> operations = new ArrayList<>();
  private final IdentityHashMap<ObservedMbarrier, MbarrierHistory> barriers =
      new IdentityHashMap<>();
  private final IdentityHashMap<Memory, LiveMbarriers> live = new IdentityHashMap<>();

  /** For each thread the last round of the cluster barrier that it has waited for. */
  private final int[] joined;

  private final Map<Integer, Long> agents = new HashMap<>();

  /** The number of the first operation of this cluster. */
  private int base = 1;

  /**
   * @param threads of the cluster
   */
  AsyncHistory(VectorClocks clocks, AtomicLong agentNumbers, int threads) {
    this.clocks = clocks;
    this.agentNumbers = agentNumbers;
    this.joined = new int[threads];
  }

  /** A cluster begins. */
  void begin() {
    base += operations.size();
    operations.clear();
    barriers.clear();
    live.values().forEach(mbarriers -> mbarriers.all.clear());
    agents.clear();
    Arrays.fill(joined, 0);
  }

  /**
   * A thread issues an operation.
   *
   * @param barrier that it signals; null = none
   */
  AsyncAccess issue(int thread, int instruction, @Nullable MbarrierHistory barrier) {
    var issued = new AsyncAccess(base + operations.size(), thread, instruction, barrier);
    operations.add(issued);
    return issued;
  }

  /** Returns whether a thread knows that the writes, or the reads, of an operation are over. */
  boolean isOver(int number, int warp, int lane, boolean wrote) {
    return number < base // of an earlier cluster
        || operations.get(number - base).isOver(clocks, warp, lane, wrote);
  }

  private long newAgent() {
    return SparseVectorClock.agent(agentNumbers.getAndIncrement());
  }

  /** Returns the agent that completes the groups of a key. */
  long agentOf(int key) {
    return agents.computeIfAbsent(key, _ -> newAgent());
  }

  /** Returns the mbarriers in a memory. They change as mbarriers are made and invalidated. */
  LiveMbarriers live(Memory memory) {
    return live.computeIfAbsent(memory, _ -> new LiveMbarriers());
  }

  /** A thread makes an mbarrier. */
  void make(ObservedMbarrier barrier, MbarrierHistory.Origin origin) {
    barriers.put(barrier, new MbarrierHistory(newAgent(), origin, joined.length));
    live(origin.shared()).all.put(origin.offset(), barrier);
  }

  /** A thread invalidates an mbarrier. */
  void invalidate(MbarrierHistory barrier) {
    live(barrier.origin.shared()).all.remove(barrier.origin.offset());
  }

  /** Returns the history of an mbarrier of this cluster. */
  MbarrierHistory of(ObservedMbarrier barrier) {
    var known = barriers.get(barrier);
    if (known == null) {
      throw new IllegalStateException("not announced: " + barrier);
    }
    return known;
  }

  /** Lanes execute {@code fence.mbarrier_init}. */
  void fenceInit(int warp, int lanes) {
    for (var barrier : barriers.values()) {
      int maker = barrier.origin.thread();
      if (Warps.warpOf(maker) == warp && ((lanes >>> Warps.laneOf(maker)) & 1) != 0) {
        barrier.isFenced = true;
      }
    }
  }

  /** A thread arrives at the cluster barrier. */
  void arrive(int thread, int round) {
    for (var barrier : barriers.values()) {
      if (barrier.origin.thread() == thread
          && barrier.isFenced
          && barrier.visibleRound == MbarrierHistory.NEVER) {
        barrier.visibleRound = round;
      }
    }
  }

  /** A thread has waited at the cluster barrier. */
  void join(int thread, int round) {
    joined[thread] = round;
  }

  /** Returns whether the making of an mbarrier is visible to a thread. */
  boolean isVisible(MbarrierHistory barrier, int thread) {
    return joined[thread] >= barrier.visibleRound
        || clocks.knowsThread(
            Warps.warpOf(thread),
            Warps.laneOf(thread),
            barrier.origin.thread(),
            barrier.origin.time());
  }
}
