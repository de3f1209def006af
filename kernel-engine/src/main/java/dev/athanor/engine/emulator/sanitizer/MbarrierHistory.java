package dev.athanor.engine.emulator.sanitizer;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the phases of one mbarrier order: what was brought to them, and who knows of them. */
final class MbarrierHistory {

  /** The round of the cluster's barrier of one that was never made visible to it. */
  static final int NEVER = Integer.MAX_VALUE;

  /** What it is in the knowledge of threads; its time is the number of phases that are complete. */
  final long agent;

  /** The number in its cluster of the thread that made it, and when that was. */
  final int maker;

  final int made;
  final int instruction;

  /** The shared memory that it lies in, and where. */
  final ClusterHistory.Shared shared;

  final long offset;

  /** Whether its maker has made it visible with {@code fence.mbarrier_init}. */
  boolean isFenced;

  /** The round of the cluster's barrier at which its maker arrived after that. */
  int round = NEVER;

  /** The last copy that it is told of. */
  @Nullable AsyncAccess last;

  /** By thread of the cluster, when it last used the mbarrier; 0 = never. */
  private final int[] uses;

  private final SparseVectorClock coming = new SparseVectorClock();
  private final SparseVectorClock come = new SparseVectorClock();

  /** For threads that have asked in vain, the phase in which they did. */
  private final Map<Integer, Long> waiting = new HashMap<>();

  private long phase;
  private long observed;

  /**
   * @param threads of the cluster
   */
  MbarrierHistory(
      long agent,
      int maker,
      int made,
      int instruction,
      ClusterHistory.Shared shared,
      long offset,
      int threads) {
    this.uses = new int[threads];
    this.agent = agent;
    this.maker = maker;
    this.made = made;
    this.instruction = instruction;
    this.shared = shared;
    this.offset = offset;
  }

  /** A thread uses the mbarrier at a time of its warp. */
  void use(int thread, int time) {
    uses[thread] = time;
  }

  /** When each thread of the cluster last used the mbarrier; 0 = never. */
  int[] uses() {
    return uses;
  }

  /** What is brought to the phase that is not complete. */
  SparseVectorClock coming() {
    return coming;
  }

  /** What complete phases have brought. */
  SparseVectorClock come() {
    return come;
  }

  /**
   * A phase is complete.
   *
   * @param count how many are
   */
  void complete(long count) {
    phase = count;
    come.join(coming);
    come.raise(agent, (int) count);
    coming.clear();
  }

  /** When a flight that ends now is known: with the phase that is not complete. */
  int next() {
    return (int) phase + 1;
  }

  /** A thread knows of the last phase that is complete. */
  void observe(int thread) {
    observed = phase;
    waiting.remove(thread);
  }

  /** Whether somebody has waited for the last phase that is complete. */
  boolean isObserved() {
    return observed == phase;
  }

  /** Whether somebody has waited for a flight. */
  boolean hasSeen(AsyncAccess flight) {
    return flight.doneTime() <= observed;
  }

  /**
   * A thread asks in vain; answers how many phases have ended since it began to ask for one of the
   * same parity.
   */
  long miss(int thread) {
    long since = waiting.getOrDefault(thread, phase);
    if ((phase - since) % 2 != 0) {
      since = phase; // it asks for another
    }
    waiting.put(thread, since);
    return phase - since;
  }
}
