package dev.athanor.engine.lift.host;

import java.util.Arrays;
import java.util.concurrent.locks.Condition;
import org.jspecify.annotations.Nullable;

/**
 * The place where consecutive threads of a block wait for each other: a warp or the whole block.
 * All methods need the block's lock.
 */
final class Meeting {
  private final ThreadBlock block;
  private final int first;
  private final Condition over;
  private final @Nullable CallSite[] waiting;
  private final long[] values;

  private int arrived;
  private int left;
  private long round;
  private WarpValues result = new WarpValues(new long[0], 0);

  Meeting(ThreadBlock block, int first, int size, Condition over) {
    this.block = block;
    this.first = first;
    this.over = over;
    this.waiting = new CallSite[size];
    this.values = new long[Math.max(size, GpuThread.LANES)];
  }

  /** Returns the call at which a thread waits here, or null if it does not. */
  @Nullable CallSite waiting(int thread) {
    return waiting[thread - first];
  }

  int arrived() {
    return arrived;
  }

  int left() {
    return left;
  }

  /** Lets a thread wait until all others have come or left; returns what they pass. */
  WarpValues await(int thread, CallSite site, long value) {
    waiting[thread - first] = site;
    values[thread - first] = value;
    arrived++;
    block.waits();
    long mine = round;
    if (isComplete()) {
      finish();
    } else {
      block.checkProgress();
    }
    while (round == mine) {
      block.checkRunning();
      over.awaitUninterruptibly();
    }
    block.checkRunning();
    return result;
  }

  /** Notes that a thread has left the kernel, which may be what the others wait for. */
  void leave() {
    left++;
    if (arrived > 0 && isComplete()) {
      finish();
    }
  }

  private boolean isComplete() {
    return arrived + left == waiting.length;
  }

  private void finish() {
    block.checkSameCalls(first, waiting.length);
    if (waiting.length <= GpuThread.LANES) {
      int lanes = 0;
      for (int lane = 0; lane < waiting.length; lane++) {
        lanes |= waiting[lane] == null ? 0 : 1 << lane;
      }
      result = new WarpValues(Arrays.copyOf(values, GpuThread.LANES), lanes);
    }
    block.resume(arrived);
    Arrays.fill(waiting, null);
    Arrays.fill(values, 0);
    arrived = 0;
    round++;
    over.signalAll();
  }

  void wake() {
    over.signalAll();
  }
}
