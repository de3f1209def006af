package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import org.jspecify.annotations.Nullable;

/**
 * An asynchronous operation that accesses memory: a bulk copy, a tensor copy or a product of a
 * warpgroup. Its reads, and its writes, are over for the threads that know a time of an agent (see
 * {@link SparseVectorClock#agent}).
 */
final class AsyncAccess implements AsyncObserver.Signal {

  /** The time of an operation that is pending. */
  private static final int PENDING = Integer.MAX_VALUE;

  /** The number that stands for it in an {@link AccessStamp}. */
  final int number;

  /** The number of the issuing thread in its cluster. */
  final int thread;

  /** The number of its instruction in the kernel. */
  final int instruction;

  /** The mbarrier that it signals; null = none. */
  private final @Nullable MbarrierHistory barrier;

  private long readAgent;
  private int readTime = PENDING;
  private long writeAgent;
  private int writeTime = PENDING;

  AsyncAccess(int number, int thread, int instruction, @Nullable MbarrierHistory barrier) {
    this.number = number;
    this.thread = thread;
    this.instruction = instruction;
    this.barrier = barrier;
  }

  /** Its source has been read for all that know an agent at a time. */
  void readAt(long agent, int time) {
    readAgent = agent;
    readTime = time;
  }

  /** It is complete for all that know an agent at a time. */
  void completeAt(long agent, int time) {
    writeAgent = agent;
    writeTime = time;
  }

  @Override
  public void done() {
    if (barrier != null) {
      readAt(barrier.agent, barrier.nextPhase());
      completeAt(barrier.agent, barrier.nextPhase());
    }
  }

  /** It is complete for all that know that another operation is. */
  void doneWith(AsyncAccess signal) {
    readAt(signal.writeAgent, signal.writeTime);
    completeAt(signal.writeAgent, signal.writeTime);
  }

  /** Returns whether a thread knows that its writes, or its reads, are over. */
  boolean isOver(VectorClocks clocks, int warp, int lane, boolean wrote) {
    int time = wrote ? writeTime : readTime;
    return time != PENDING && clocks.knows(warp, lane, wrote ? writeAgent : readAgent) >= time;
  }

  /** Returns the time of the agent at which it is complete; more than any time if it is pending. */
  int completionTime() {
    return writeTime;
  }
}
