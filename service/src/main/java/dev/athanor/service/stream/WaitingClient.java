package dev.athanor.service.stream;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The client that waits for a job. {@link ClientWatch} checks all of them: a virtual thread that
 * waits with a timeout wakes another thread to schedule the timeout and again to cancel it.
 */
final class WaitingClient {

  /** First interval between checks; each interval doubles. */
  static final Duration FIRST_CHECK = Duration.ofMillis(20);

  /** Longest interval, so that many waiting clients cost few checks. */
  private static final Duration LONGEST = Duration.ofSeconds(1);

  private @Nullable BooleanSupplier hasGone;
  private long interval;
  private long nextCheck;

  /**
   * Begins to wait.
   *
   * @param gone whether the client has disconnected; not called after {@link #leave}
   */
  synchronized void enter(BooleanSupplier gone) {
    hasGone = gone;
    interval = FIRST_CHECK.toNanos();
    nextCheck = System.nanoTime() + interval;
  }

  /** Ends the wait. Returns after a check in progress. */
  synchronized void leave() {
    hasGone = null;
  }

  /** Returns whether a client waits that has disconnected, if the next check is due. */
  synchronized boolean hasGone(long now) {
    if (hasGone == null || now - nextCheck < 0) {
      return false;
    }
    interval = Math.min(2 * interval, LONGEST.toNanos());
    nextCheck = now + interval;
    return hasGone.getAsBoolean();
  }
}
