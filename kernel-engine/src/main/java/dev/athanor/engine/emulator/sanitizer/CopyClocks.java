package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import dev.athanor.engine.ptx.Warps;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The times at which the threads of a cluster have waited for their {@code cp.async} copies. A
 * batch is what a thread issues between two commits or arrivals at an mbarrier. The numbers of
 * batches continue from one cluster to the next, so that none occurs twice.
 */
final class CopyClocks {

  /** No batch. */
  private static final int NONE = -1;

  /** For each thread its complete batches, its committed groups, and the last batch of each. */
  private final int[] batches;

  private final int[] committed;
  private final int[][] ends;

  /** An arrival at an mbarrier when the first batches of a thread are done. */
  private record Arrival(int batches, AsyncAccess signal) {}

  private final Map<Integer, List<Arrival>> arrivals = new HashMap<>();

  /** For each thread the batches that are done, and the time at which its warp waited for each. */
  private final int[] done;

  private final int[][] times;

  /** For each thread the last batch with a copy in it, and the instruction of that copy. */
  private final int[] last;

  private final int[] lastInstruction;
  private int base = 1;

  CopyClocks(int threads) {
    batches = new int[threads];
    committed = new int[threads];
    ends = new int[threads][0];
    done = new int[threads];
    times = new int[threads][0];
    last = new int[threads];
    lastInstruction = new int[threads];
  }

  /** A cluster begins. */
  void begin() {
    base += Arrays.stream(batches).max().orElse(0) + 1;
    Arrays.fill(batches, 0);
    Arrays.fill(committed, 0);
    arrivals.clear();
    Arrays.fill(done, 0);
    Arrays.fill(last, NONE);
  }

  /** A thread issues a copy; returns the number of its batch. */
  int issue(int thread, int instruction) {
    last[thread] = batches[thread];
    lastInstruction[thread] = instruction;
    return base + batches[thread];
  }

  /** Threads commit a group. */
  void commit(int warp, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(warp, left);
      batches[thread]++;
      int group = committed[thread]++;
      if (group == ends[thread].length) {
        ends[thread] = Arrays.copyOf(ends[thread], 2 * group + 2);
      }
      ends[thread][group] = batches[thread];
    }
  }

  /** All copies that a thread has issued will arrive at an mbarrier. */
  void arrive(int thread, AsyncAccess signal) {
    batches[thread]++;
    arrivals
        .computeIfAbsent(thread, _ -> new ArrayList<>())
        .add(new Arrival(batches[thread], signal));
    last[thread] = NONE;
  }

  /** Returns whether a thread knows of the arrival of a batch at an mbarrier. */
  boolean hasArrived(int thread, int batch, VectorClocks clocks, int warp, int lane) {
    if (arrivals.isEmpty()) { // avoids a look-up for each byte in most kernels
      return false;
    }
    for (var arrival : arrivals.getOrDefault(thread, List.of())) {
      if (batch - base < arrival.batches && arrival.signal.isOver(clocks, warp, lane, true)) {
        return true;
      }
    }
    return false;
  }

  /** Threads wait for all but their {@code but} newest groups. */
  void await(int warp, int lanes, int but, int now) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(warp, left);
      int groups = committed[thread] - but;
      int until = groups > 0 ? ends[thread][groups - 1] : 0;
      if (until > done[thread]) {
        if (until > times[thread].length) {
          times[thread] = Arrays.copyOf(times[thread], 2 * until);
        }
        Arrays.fill(times[thread], done[thread], until, now);
        done[thread] = until;
      }
    }
  }

  /** Returns whether a thread has waited for a batch; true for those of an earlier cluster. */
  boolean isDone(int thread, int batch) {
    return batch - base < done[thread];
  }

  /** Returns the time at which a thread waited for a batch; 0 = in an earlier cluster. */
  int time(int thread, int batch) {
    return batch < base ? 0 : times[thread][batch - base];
  }

  /** Returns the instruction of the last copy that a thread has not waited for; -1 = none. */
  int left(int thread) {
    return last[thread] >= done[thread] ? lastInstruction[thread] : NONE;
  }
}
