package dev.athanor.client;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The context shared by all attempts of a call.
 *
 * @param end the deadline in context of {@link System#nanoTime}
 * @param priority 0 for the service's default
 * @param idempotencyKey null unless the request creates tensors
 */
record CallContext(long end, int priority, @Nullable String idempotencyKey) {

  long remainingNanos() {
    return end - System.nanoTime();
  }

  /** Returns at least 1, as the service requires. */
  long remainingMillis() {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(remainingNanos()));
  }
}
