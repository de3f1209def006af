package dev.athanor.service.failure;

import java.util.concurrent.TimeUnit;

/**
 * The deadline of a call.
 *
 * @param millis the timeout that the client gave; 0 for no deadline
 * @param at the deadline as {@link System#nanoTime()}
 */
public record Deadline(long millis, long at) {

  /** A wait that is practically unlimited but does not overflow. */
  private static final long FOREVER = TimeUnit.DAYS.toNanos(365);

  public static Deadline none() {
    return new Deadline(0, 0);
  }

  /**
   * Returns a deadline relative to now.
   *
   * @param millis the time from now; at least 1
   */
  public static Deadline in(long millis) {
    long nanos = Math.min(TimeUnit.MILLISECONDS.toNanos(millis), FOREVER);
    return new Deadline(millis, System.nanoTime() + nanos);
  }

  public boolean isSet() {
    return millis > 0;
  }

  /** Returns the remaining time; not positive after the deadline. */
  public long remainingNanos() {
    return isSet() ? at - System.nanoTime() : FOREVER;
  }

  /**
   * Fails if the deadline has passed.
   *
   * @throws Failure.DeadlineExceeded if the deadline has passed
   */
  public void check() {
    if (remainingNanos() <= 0) {
      throw new Failure.DeadlineExceeded(this);
    }
  }
}
