package dev.athanor.engine.emulator;

import java.util.Arrays;

/**
 * When the asynchronous copies of a block's threads were waited for. Groups are numbered anew from
 * where those of the block before ended, so that no number comes twice.
 */
final class CopyClocks {

  /** No group. */
  private static final int NONE = -1;

  private final int[] committed;

  /** How many groups of each thread are done, and when its warp waited for each. */
  private final int[] done;

  private final int[][] times;

  /** The last group of each thread that has a copy in it, and the copy's instruction. */
  private final int[] last;

  private final int[] lastInstruction;
  private int base = 1;

  CopyClocks(int threads) {
    committed = new int[threads];
    done = new int[threads];
    times = new int[threads][0];
    last = new int[threads];
    lastInstruction = new int[threads];
  }

  void begin() {
    base += Arrays.stream(committed).max().orElse(0) + 1;
    Arrays.fill(committed, 0);
    Arrays.fill(done, 0);
    Arrays.fill(last, NONE);
  }

  /** Takes note of a copy, and answers the number of its group. */
  int issue(int thread, int instruction) {
    last[thread] = committed[thread];
    lastInstruction[thread] = instruction;
    return base + committed[thread];
  }

  void commit(int warp, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      committed[32 * warp + Integer.numberOfTrailingZeros(left)]++;
    }
  }

  /** Threads wait for all but their newest groups. */
  void await(int warp, int lanes, int but, int now) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      int until = committed[thread] - but;
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
  boolean isDone(int thread, int group) {
    return group - base < done[thread];
  }

  /** When a copy that is done was waited for; 0 = in an earlier block. */
  int time(int thread, int group) {
    return group < base ? 0 : times[thread][group - base];
  }

  /** The instruction of the last copy that a thread has not waited for; -1 = none. */
  int left(int thread) {
    return last[thread] >= done[thread] ? lastInstruction[thread] : NONE;
  }
}
