package dev.athanor.client;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What holds for all attempts of a call.
 *
 * @param end when the deadline passes, as {@link System#nanoTime} counts
 * @param priority 0 for the service's default
 * @param idempotencyKey of a request that creates tensors; null for others
 */
record Terms(long end, int priority, @Nullable String idempotencyKey) {

  long remainingNanos() {
    return end - System.nanoTime();
  }

  /** At least 1, as the service demands. */
  long remainingMillis() {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(remainingNanos()));
  }
}
