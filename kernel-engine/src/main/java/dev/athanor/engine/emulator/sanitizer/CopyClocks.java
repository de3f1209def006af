package dev.athanor.engine.emulator.sanitizer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * When the asynchronous copies of a block's threads were waited for. What a thread issues between
 * two commits or arrivals is a run of copies. Runs are numbered anew from where those of the block
 * before ended, so that no number comes twice.
 */
final class CopyClocks {

  /** No run. */
  private static final int NONE = -1;

  /** How many runs each thread has ended, and with which it ended each of its groups. */
  private final int[] runs;

  private final int[] committed;
  private final int[][] ends;

  /** What arrives at an mbarrier when the copies of a thread's runs before are done. */
  private record Arrival(int runs, AsyncAccess flight) {}

  private final Map<Integer, List<Arrival>> arrivals = new HashMap<>();

  /** How many runs of each thread are done, and when its warp waited for each. */
  private final int[] done;

  private final int[][] times;

  /** The last run of each thread that has a copy in it, and the copy's instruction. */
  private final int[] last;

  private final int[] lastInstruction;
  private int base = 1;

  CopyClocks(int threads) {
    runs = new int[threads];
    committed = new int[threads];
    ends = new int[threads][0];
    done = new int[threads];
    times = new int[threads][0];
    last = new int[threads];
    lastInstruction = new int[threads];
  }

  void begin() {
    base += Arrays.stream(runs).max().orElse(0) + 1;
    Arrays.fill(runs, 0);
    Arrays.fill(committed, 0);
    arrivals.clear();
    Arrays.fill(done, 0);
    Arrays.fill(last, NONE);
  }

  /** Takes note of a copy, and answers the number of its run. */
  int issue(int thread, int instruction) {
    last[thread] = runs[thread];
    lastInstruction[thread] = instruction;
    return base + runs[thread];
  }

  void commit(int warp, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      runs[thread]++;
      int group = committed[thread]++;
      if (group == ends[thread].length) {
        ends[thread] = Arrays.copyOf(ends[thread], 2 * group + 2);
      }
      ends[thread][group] = runs[thread];
    }
  }

  /** All copies that a thread has issued arrive at an mbarrier when they are done. */
  void arrive(int thread, AsyncAccess flight) {
    runs[thread]++;
    arrivals.computeIfAbsent(thread, _ -> new ArrayList<>()).add(new Arrival(runs[thread], flight));
    last[thread] = NONE;
  }

  /** Whether somebody knows of the arrival of copies at an mbarrier. */
  boolean hasArrived(int thread, int run, VectorClocks clocks, int warp, int lane) {
    if (arrivals.isEmpty()) { // spares most kernels the look-up, once for each byte
      return false;
    }
    for (var arrival : arrivals.getOrDefault(thread, List.of())) {
      if (run - base < arrival.runs && arrival.flight.isOver(clocks, warp, lane, true)) {
        return true;
      }
    }
    return false;
  }

  /** Threads wait for all but their newest groups. */
  void await(int warp, int lanes, int but, int now) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
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

  /** Whether a copy has been waited for; those of an earlier block have. */
  boolean isDone(int thread, int run) {
    return run - base < done[thread];
  }

  /** When a copy that is done was waited for; 0 = in an earlier block. */
  int time(int thread, int run) {
    return run < base ? 0 : times[thread][run - base];
  }

  /** The instruction of the last copy that a thread has not waited for; -1 = none. */
  int left(int thread) {
    return last[thread] >= done[thread] ? lastInstruction[thread] : NONE;
  }
}
