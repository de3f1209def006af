package dev.athanor.engine.emulator;

import dev.athanor.engine.emulator.EmulatorOptions.AsyncTiming;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** The work that goes on beside the threads of a cluster, and when each piece of it is done. */
final class AsyncWork {

  /** One look in so many at what is pending does a piece of it at random. */
  private static final int RARITY = 4;

  private final AsyncTiming timing;
  private final long seed;
  private final List<Ticket> pending = new ArrayList<>();
  private SplittableRandom random = new SplittableRandom(0);

  AsyncWork(AsyncTiming timing, long seed) {
    this.timing = timing;
    this.seed = seed;
  }

  /** Forgets what is left of other blocks. */
  void begin(long cluster) {
    pending.clear();
    random = new SplittableRandom(seed * 0x9E37_79B9_7F4A_7C15L - cluster);
  }

  void issue(Ticket ticket) {
    if (isDoneAtOnce()) {
      ticket.finish();
    } else {
      ticket.delay();
      pending.add(ticket);
    }
  }

  /** All threads have ended; what nobody has waited for may be left undone. */
  void end() {
    var left = List.copyOf(pending);
    pending.clear();
    left.forEach(Ticket::end);
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
  void pass() {
    if (timing == AsyncTiming.RANDOM && !pending.isEmpty() && random.nextInt(RARITY) == 0) {
      finish(pending.get(random.nextInt(pending.size())));
    }
  }

  /** Does a piece of what somebody waits for; answers whether there was any. */
  boolean hasten(List<Ticket> wanted) {
    wanted.removeIf(Ticket::isDone);
    if (wanted.isEmpty()) {
      return false;
    }
    finish(isReordered() ? pending.get(random.nextInt(pending.size())) : wanted.getFirst());
    return true;
  }

  void finish(Ticket ticket) {
    pending.remove(ticket);
    ticket.finish();
  }

  /** Does all that somebody waits for. */
  void finishAll(List<Ticket> wanted) {
    while (hasten(wanted)) {
      // until nothing is left
    }
  }
}
