package dev.athanor.client;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for conditions, as long as necessary. */
final class Waiting {

  private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(5);

  private Waiting() {}

  static void until(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      LockSupport.parkNanos(PAUSE);
    }
  }
}
