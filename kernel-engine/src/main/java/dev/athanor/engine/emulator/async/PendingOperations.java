package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The pending asynchronous operations of a cluster, and the timing that decides when each
 * completes.
 */
public final class PendingOperations {

  /** With {@code RANDOM} timing, each poll completes a pending operation with probability 1/n. */
  private static final int RARITY = 4;

  private final AsyncTiming timing;
  private final long seed;
  private final List<PendingOperation> pending = new ArrayList<>();
  private long issued;
  private SplittableRandom random = new SplittableRandom(0);

  public PendingOperations(AsyncTiming timing, long seed) {
    this.timing = timing;
    this.seed = seed;
  }

  /** Discards the operations of the previous cluster. */
  public void begin(long cluster) {
    pending.clear();
    random = new SplittableRandom(seed * 0x9E37_79B9_7F4A_7C15L - cluster);
  }

  void issue(PendingOperation ticket) {
    if (isDoneAtOnce()) {
      ticket.finish();
    } else {
      ticket.delay();
      ticket.number = issued++;
      ticket.place = pending.size();
      pending.add(ticket);
    }
  }

  /** Called when all threads have exited; operations that no thread waited for may stay undone. */
  public void end() {
    var left = new ArrayList<>(pending);
    pending.clear();
    left.sort(Comparator.comparingLong(ticket -> ticket.number));
    left.forEach(PendingOperation::end);
  }

  /** Returns whether an operation issued now completes immediately. */
  boolean isDoneAtOnce() {
    return switch (timing) {
      case EAGER -> true;
      case LAZY, REORDERED -> false;
      case RANDOM -> random.nextInt(RARITY) == 0;
    };
  }

  /** Returns whether operations that are waited for together complete in random order. */
  boolean isReordered() {
    return timing == AsyncTiming.REORDERED;
  }

  /** Gives pending operations a chance to complete. */
  public void pass() {
    if (timing == AsyncTiming.RANDOM && !pending.isEmpty() && random.nextInt(RARITY) == 0) {
      finish(pending.get(random.nextInt(pending.size())));
    }
  }

  /** Completes one of several operations that a thread waits for; returns whether there was one. */
  boolean finishOne(Deque<PendingOperation> wanted) {
    forgetDone(wanted);
    if (wanted.isEmpty()) {
      return false;
    }
    finish(isReordered() ? pending.get(random.nextInt(pending.size())) : wanted.getFirst());
    return true;
  }

  /** Removes completed operations from the front of a queue. */
  static void forgetDone(Deque<PendingOperation> wanted) {
    while (!wanted.isEmpty() && wanted.getFirst().isDone()) {
      wanted.removeFirst();
    }
  }

  /** Performs a pending operation. */
  void finish(PendingOperation ticket) {
    // the last one fills the gap: there may be very many
    var last = pending.removeLast();
    if (ticket.place < pending.size()) {
      pending.set(ticket.place, last);
      last.place = ticket.place;
    }
    ticket.finish();
  }

  /** Completes all operations that a thread waits for. */
  void finishAll(Deque<PendingOperation> wanted) {
    while (finishOne(wanted)) {
      // until none is left
    }
  }
}
