package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The history of one mbarrier: the clocks that arrivals published, and the phases observed. */
final class MbarrierHistory {

  /**
   * The initialization of an mbarrier.
   *
   * @param thread its number in its cluster
   * @param time of its warp
   * @param instruction its number in the kernel
   * @param shared the memory that the mbarrier lies in
   */
  record Origin(int thread, int time, int instruction, Memory shared, long offset) {}

  /** Stands for the round of the cluster barrier if none has made the mbarrier visible. */
  static final int NEVER = Integer.MAX_VALUE;

  /** Its agent, whose time is the number of complete phases. */
  final long agent;

  final Origin origin;

  /** Whether the thread that made it has executed {@code fence.mbarrier_init} since. */
  boolean isFenced;

  /** The round of the cluster barrier at which that thread arrived after the fence. */
  int visibleRound = NEVER;

  /** The last copy that signals it. */
  @Nullable AsyncAccess lastCopy;

  /** For each thread of the cluster the time of its last use; 0 = never. */
  private final int[] uses;

  private final SparseVectorClock arriving = new SparseVectorClock();
  private final SparseVectorClock completed = new SparseVectorClock();

  /** For each thread whose test failed, the phase that it asked for. */
  private final Map<Integer, Long> waiting = new HashMap<>();

  private long phase;
  private long observed;

  /**
   * @param threads of the cluster
   */
  MbarrierHistory(long agent, Origin origin, int threads) {
    this.agent = agent;
    this.origin = origin;
    this.uses = new int[threads];
  }

  /** A thread uses the mbarrier at a time of its warp. */
  void use(int thread, int time) {
    uses[thread] = time;
  }

  /** Returns for each thread of the cluster the time of its last use; 0 = never. */
  int[] uses() {
    return uses;
  }

  /** Returns the clock to which arrivals at the incomplete phase publish. */
  SparseVectorClock arriving() {
    return arriving;
  }

  /** Returns the clock that joins all arrivals at complete phases. */
  SparseVectorClock completed() {
    return completed;
  }

  /**
   * A phase is complete.
   *
   * @param phases complete so far
   */
  void complete(long phases) {
    phase = phases;
    completed.join(arriving);
    completed.raise(agent, (int) phases);
    arriving.clear();
  }

  /** Returns the time of the agent when the incomplete phase will be complete. */
  int nextPhase() {
    return (int) phase + 1;
  }

  /** A thread observes that the last phase is complete. */
  void observe(int thread) {
    observed = phase;
    waiting.remove(thread);
  }

  /** Returns whether any thread has observed the last complete phase. */
  boolean isObserved() {
    return observed == phase;
  }

  /** Returns whether any thread has observed the phase that completed a copy. */
  boolean hasObserved(AsyncAccess copy) {
    return copy.completionTime() <= observed;
  }

  /**
   * A thread tests a phase that is not complete.
   *
   * @return the phases that have completed since it first tested one of this parity
   */
  long miss(int thread) {
    long since = waiting.getOrDefault(thread, phase);
    if ((phase - since) % 2 != 0) {
      since = phase; // it tests another phase now
    }
    waiting.put(thread, since);
    return phase - since;
  }
}
