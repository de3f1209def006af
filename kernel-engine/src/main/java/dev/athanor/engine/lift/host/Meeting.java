package dev.athanor.engine.lift.host;

import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.locks.Condition;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The place where consecutive threads of a block wait for each other: a warp or the whole block.
 * All methods need the block's lock.
 */
final class Meeting {
  /** The member mask of all threads. */
  static final int ALL = -1;

  private final ThreadBlock block;
  private final int first;
  private final Condition over;
  private final @Nullable CallSite[] waiting;
  private final int[] members;
  private final long[] values;
  private final WarpValues[] results;
  private final BitSet gone = new BitSet();

  private int arrived;

  Meeting(ThreadBlock block, int first, int size, Condition over) {
    this.block = block;
    this.first = first;
    this.over = over;
    this.waiting = new CallSite[size];
    this.members = new int[size];
    this.values = new long[size];
    this.results = new WarpValues[size];
  }

  /** Returns the call at which a thread waits here, or null if it does not. */
  @Nullable CallSite waiting(int thread) {
    return waiting[thread - first];
  }

  int arrived() {
    return arrived;
  }

  int left() {
    return gone.cardinality();
  }

  /**
   * Lets a thread wait until all others have come or left; returns what they pass.
   *
   * @param lanes mask of those that come, in a warp
   */
  WarpValues await(int thread, CallSite site, int lanes, long value) {
    int mine = thread - first;
    waiting[mine] = site;
    members[mine] = lanes;
    values[mine] = value;
    arrived++;
    block.waits();
    if (isComplete(lanes)) {
      finish(lanes);
    } else {
      block.checkProgress();
    }
    while (waiting[mine] != null) {
      block.checkRunning();
      over.awaitUninterruptibly();
    }
    block.checkRunning();
    return results[mine];
  }

  /** Notes that a thread has left the kernel, which may be what the others wait for. */
  void leave(int thread) {
    gone.set(thread - first);
    for (int i = 0; i < waiting.length && arrived > 0; i++) {
      if (waiting[i] != null && isComplete(members[i])) {
        finish(members[i]);
      }
    }
  }

  private IntStream threads(int lanes) {
    var all = IntStream.range(0, waiting.length);
    return lanes == ALL ? all : all.filter(i -> ((lanes >>> i) & 1) != 0);
  }

  private boolean isComplete(int lanes) {
    return (lanes != ALL || arrived + left() == waiting.length)
        && threads(lanes).allMatch(i -> gone.get(i) || (waiting[i] != null && members[i] == lanes));
  }

  private void finish(int lanes) {
    var present = threads(lanes).filter(i -> waiting[i] != null).toArray();
    block.checkSameCalls(Arrays.stream(present).map(i -> first + i).toArray());
    var passed = new long[GpuThread.LANES];
    int mask = 0;
    if (waiting.length <= GpuThread.LANES) {
      for (int i : present) {
        passed[i] = values[i];
        mask |= 1 << i;
      }
    }
    var result = new WarpValues(passed, mask);
    for (int i : present) {
      results[i] = result;
      waiting[i] = null;
    }
    arrived -= present.length;
    block.resume(present.length);
    over.signalAll();
  }

  void wake() {
    over.signalAll();
  }
}
