package dev.athanor.client;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for conditions, with a generous timeout. */
final class Waiting {

  private static final long LONGEST = TimeUnit.SECONDS.toNanos(60);

  private Waiting() {}

  static void until(BooleanSupplier condition) {
    long end = System.nanoTime() + LONGEST;
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() > end) {
        throw new AssertionError("The condition does not come true.");
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
    }
  }
}
