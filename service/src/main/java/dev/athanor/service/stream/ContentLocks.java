package dev.athanor.service.stream;

import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Pin.Access;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Locks the contents of tensors for calls that are not in the queue yet. A call waits only as long
 * as its client does and the service can still serve it, and only so many calls wait at a time.
 */
public final class ContentLocks {

  /** How often a wait is looked at; shorter waits would let readers starve a writer. */
  private static final long LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final DeviceHealth health;
  private final int most;
  private final AtomicInteger waiting = new AtomicInteger();

  /**
   * @param most how many calls may wait
   */
  ContentLocks(DeviceHealth health, int most) {
    this.health = health;
    this.most = most;
  }

  /**
   * Waits until nobody writes the contents, and to write them until nobody reads them.
   *
   * @throws Failure.TooLate when the deadline passes first
   * @throws Failure.Busy with {@code queue-full} when too many calls wait, or {@code draining} or
   *     {@code device-lost} when it comes to that
   * @throws Failure.Refused with {@code cancelled} when the client hangs up
   */
  public void lock(Pin pin, Access access, RequestContext terms) {
    try {
      if (!pin.tryLock(access, 0)) {
        await(pin, access, terms);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw terms.clientHasGone().getAsBoolean() ? Failure.clientGone() : Failure.Busy.draining();
    }
  }

  private void await(Pin pin, Access access, RequestContext terms) throws InterruptedException {
    try {
      if (waiting.incrementAndGet() > most) {
        throw new Failure.Busy(
            Code.QUEUE_FULL,
            "Queue full: %d calls wait for tensors that other calls use (athanor.run.queue=%d). Retry after 1 s."
                .formatted(most, most),
            RETRY_AFTER);
      }
      long wait;
      do {
        terms.deadline().check();
        health.admit(pin.home().number());
        if (terms.clientHasGone().getAsBoolean()) {
          throw Failure.clientGone();
        }
        wait = Math.clamp(terms.deadline().remainingNanos(), 0, LOOK_NANOS);
      } while (!pin.tryLock(access, wait));
    } finally {
      waiting.decrementAndGet();
    }
  }

  /** How many calls wait. */
  public int waiting() {
    return waiting.get();
  }
}
