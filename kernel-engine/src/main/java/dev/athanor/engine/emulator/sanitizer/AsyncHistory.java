package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What the sanitizer knows of the work beside the threads of a cluster: its flights, and the
 * mbarriers that tell of them. Threads are numbered through the cluster.
 */
final class AsyncHistory {

  private final ClusterHistory watch;
  private final List<AsyncAccess> flights = new ArrayList<>();
  private final IdentityHashMap<ObservedMbarrier, MbarrierHistory> barriers =
      new IdentityHashMap<>();

  /** For each thread the last round of the cluster's barrier that it has waited for. */
  private final int[] joined;

  private final Map<Integer, Long> agents = new HashMap<>();

  /** By the address of a tensor map and thread, the thread's last fence for it. */
  private final Map<Long, Map<Integer, TensorMapFence>> mapFences = new HashMap<>();

  /** The number of the first flight. */
  private int base = 1;

  AsyncHistory(ClusterHistory watch) {
    this.watch = watch;
    this.joined = new int[32 * watch.live.length];
  }

  void begin() {
    base += flights.size();
    flights.clear();
    barriers.clear();
    agents.clear();
    mapFences.clear();
    Arrays.fill(joined, 0);
  }

  /**
   * Something begins to act beside the threads.
   *
   * @param barrier that it signals; null = none
   */
  AsyncAccess issue(int thread, int instruction, @Nullable MbarrierHistory barrier) {
    var flight = new AsyncAccess(base + flights.size(), thread, instruction, barrier);
    flights.add(flight);
    return flight;
  }

  /** Whether a thread knows that a flight has written, or that it has read. */
  boolean isOver(int number, int warp, int lane, boolean wrote) {
    return number < base // in an earlier cluster
        || flights.get(number - base).isOver(watch.clocks, warp, lane, wrote);
  }

  private long newAgent() {
    return SparseVectorClock.agent(watch.launch.agents.getAndIncrement());
  }

  /** The agent that tells of the ends of what a thread, or some such, has issued. */
  long agentOf(int key) {
    return agents.computeIfAbsent(key, _ -> newAgent());
  }

  /** A thread makes an mbarrier. */
  void make(
      ObservedMbarrier barrier,
      int thread,
      int instruction,
      ClusterHistory.Shared shared,
      long offset) {
    barriers.put(
        barrier,
        new MbarrierHistory(
            newAgent(),
            thread,
            watch.clocks.now(thread / 32),
            instruction,
            shared,
            offset,
            joined.length));
    shared.mbarriers().add(offset, barrier);
  }

  /** The history of an mbarrier of this cluster. */
  MbarrierHistory of(ObservedMbarrier barrier) {
    var known = barriers.get(barrier);
    if (known == null) {
      throw new IllegalStateException("nobody saw that " + barrier + " was made");
    }
    return known;
  }

  /** {@code fence.mbarrier_init}. */
  void fenceMade(int warp, int lanes) {
    for (var barrier : barriers.values()) {
      if (barrier.maker / 32 == warp && ((lanes >>> (barrier.maker % 32)) & 1) != 0) {
        barrier.isFenced = true;
      }
    }
  }

  /** A thread arrives at the barrier of the cluster. */
  void arrive(int thread, int round) {
    for (var barrier : barriers.values()) {
      if (barrier.maker == thread && barrier.isFenced && barrier.round == MbarrierHistory.NEVER) {
        barrier.round = round;
      }
    }
  }

  /** A thread has waited there. */
  void join(int thread, int round) {
    joined[thread] = round;
  }

  /** A thread executes a fence for a tensor map. */
  void fenceMap(long address, int thread, TensorMapFence fence) {
    mapFences.computeIfAbsent(address, _ -> new HashMap<>()).put(thread, fence);
  }

  /** The last fences for a tensor map, by thread. */
  Map<Integer, TensorMapFence> mapFences(long address) {
    return mapFences.getOrDefault(address, Map.of());
  }

  /** Whether a thread sees that an mbarrier was made. */
  boolean isVisible(MbarrierHistory barrier, int thread) {
    return barrier.maker == thread
        || joined[thread] >= barrier.round
        || watch.clocks.knows(
            thread / 32,
            thread % 32,
            watch.cluster(),
            barrier.maker / 32,
            barrier.maker % 32,
            barrier.made);
  }
}
