package dev.athanor.engine.emulator.async;

import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/** The work that goes on beside the threads of a cluster, and when each piece of it is done. */
public final class PendingOperations {

  /** One look in so many at what is pending does a piece of it at random. */
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

  /** Forgets what is left of other blocks. */
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

  /** All threads have ended; what nobody has waited for may be left undone. */
  public void end() {
    var left = new ArrayList<>(pending);
    pending.clear();
    left.sort(Comparator.comparingLong(ticket -> ticket.number));
    left.forEach(PendingOperation::end);
  }

  /** Whether what is issued now is done now. */
  boolean isDoneAtOnce() {
    return switch (timing) {
      case EAGER -> true;
      case LAZY, REORDERED -> false;
      case RANDOM -> random.nextInt(RARITY) == 0;
    };
  }

  /** Whether what is waited for together is done in any order. */
  boolean isReordered() {
    return timing == AsyncTiming.REORDERED;
  }

  /** Lets time pass. */
  public void pass() {
    if (timing == AsyncTiming.RANDOM && !pending.isEmpty() && random.nextInt(RARITY) == 0) {
      finish(pending.get(random.nextInt(pending.size())));
    }
  }

  /** Does a piece of what somebody waits for; answers whether there was any. */
  boolean hasten(Deque<PendingOperation> wanted) {
    forgetDone(wanted);
    if (wanted.isEmpty()) {
      return false;
    }
    finish(isReordered() ? pending.get(random.nextInt(pending.size())) : wanted.getFirst());
    return true;
  }

  /** Removes what is done, up to the first ticket that is not. */
  static void forgetDone(Deque<PendingOperation> wanted) {
    while (!wanted.isEmpty() && wanted.getFirst().isDone()) {
      wanted.removeFirst();
    }
  }

  /** Does a piece of what is pending. */
  void finish(PendingOperation ticket) {
    // the last takes its place: there may be very many
    var last = pending.removeLast();
    if (ticket.place < pending.size()) {
      pending.set(ticket.place, last);
      last.place = ticket.place;
    }
    ticket.finish();
  }

  /** Does all that somebody waits for. */
  void finishAll(Deque<PendingOperation> wanted) {
    while (hasten(wanted)) {
      // until nothing is left
    }
  }
}
