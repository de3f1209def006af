package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.watch.AsyncObserver;
import org.jspecify.annotations.Nullable;

/**
 * Something that goes on beside the threads and touches memory: a bulk copy, a copy of a tile, a
 * product of a warpgroup. Its reads and its writes are over for a thread that knows an agent to be
 * far enough (see {@link SparseVectorClock#agent}).
 */
final class AsyncAccess implements AsyncObserver.Signal {

  /** What nobody knows: it is under way. */
  private static final int NEVER = Integer.MAX_VALUE;

  /** What names it in a {@link AccessStamp}. */
  final int number;

  /** The issuing thread's number in its cluster. */
  final int thread;

  /** The number of its instruction in the kernel. */
  final int instruction;

  /** The mbarrier that it signals; null = none. */
  private final @Nullable MbarrierHistory barrier;

  private long readAgent;
  private int read = NEVER;
  private long writeAgent;
  private int written = NEVER;

  AsyncAccess(int number, int thread, int instruction, @Nullable MbarrierHistory barrier) {
    this.number = number;
    this.thread = thread;
    this.instruction = instruction;
    this.barrier = barrier;
  }

  /** Says who knows its source to be read. */
  void readBy(long agent, int time) {
    readAgent = agent;
    read = time;
  }

  /** Says who knows it to be done. */
  void doneBy(long agent, int time) {
    writeAgent = agent;
    written = time;
  }

  @Override
  public void done() {
    if (barrier != null) {
      readBy(barrier.agent, barrier.next());
      doneBy(barrier.agent, barrier.next());
    }
  }

  /** Whether a thread knows that it has written, or that it has read. */
  boolean isOver(VectorClocks clocks, int warp, int lane, boolean wrote) {
    int time = wrote ? written : read;
    return time != NEVER && clocks.knows(warp, lane, wrote ? writeAgent : readAgent) >= time;
  }

  /** When its agent knows it to be done; {@link Integer#MAX_VALUE} = it is under way. */
  int doneTime() {
    return written;
  }
}
