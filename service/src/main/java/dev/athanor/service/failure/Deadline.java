package dev.athanor.service.failure;

import java.util.concurrent.TimeUnit;

/**
 * When a call must be over.
 *
 * @param millis what the client gave; 0 for no deadline
 * @param at the same on the clock of {@link System#nanoTime()}
 */
public record Deadline(long millis, long at) {

  /** A wait that is as good as endless and still far from overflowing. */
  private static final long FOREVER = TimeUnit.DAYS.toNanos(365);

  public static Deadline none() {
    return new Deadline(0, 0);
  }

  /**
   * A deadline from now on.
   *
   * @param millis from now; at least 1
   */
  public static Deadline in(long millis) {
    long nanos = Math.min(TimeUnit.MILLISECONDS.toNanos(millis), FOREVER);
    return new Deadline(millis, System.nanoTime() + nanos);
  }

  public boolean isSet() {
    return millis > 0;
  }

  /** How long a wait may take; not positive once the deadline has passed. */
  public long remainingNanos() {
    return isSet() ? at - System.nanoTime() : FOREVER;
  }

  /**
   * Lets a call go on that is in time.
   *
   * @throws Failure.TooLate when the deadline has passed
   */
  public void check() {
    if (remainingNanos() <= 0) {
      throw new Failure.TooLate(this);
    }
  }
}
