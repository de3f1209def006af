package dev.athanor.service.stream;

import dev.athanor.service.device.DeviceHealth;
import dev.athanor.service.device.ProcessorShares;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.schedule.SharedLimit;
import dev.athanor.service.tensor.Pin;
import dev.athanor.service.tensor.Pin.Access;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Locks the contents of tensors before a call is queued. A call stops waiting when its client
 * disconnects, its deadline passes, or the service can no longer run it. Tenants share the limit of
 * waiting calls.
 */
public final class ContentLocks {

  /** Interval between checks of a waiting call; shorter waits would let readers starve a writer. */
  private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final DeviceHealth health;
  private final SharedLimit waiting;

  /**
   * @param waiting the limit of waiting calls
   */
  ContentLocks(DeviceHealth health, SharedLimit waiting) {
    this.health = health;
    this.waiting = waiting;
  }

  /**
   * Acquires the read or write lock of a tensor's contents.
   *
   * @throws Failure.DeadlineExceeded if the deadline passes first
   * @throws Failure.Busy with {@code queue-full} if too many calls wait, or with {@code draining}
   *     or {@code device-lost} if that happens meanwhile
   * @throws Failure.Refused with {@code cancelled} if the client disconnects
   */
  public void lock(Pin pin, Access access, RequestContext context) {
    try {
      if (!pin.tryLock(access, 0)) {
        await(pin, access, context);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw context.clientHasGone().getAsBoolean() ? Failure.clientGone() : Failure.Busy.draining();
    }
  }

  private void await(Pin pin, Access access, RequestContext context) throws InterruptedException {
    if (!waiting.tryAdd(context.account(), 1)) {
      throw new Failure.Busy(
          Code.QUEUE_FULL,
          "Queue full: %d of %d calls are waiting for tensors in use by other calls (athanor.run.queue), %d of them for this tenant (athanor.quota.share). Retry after 1 s."
              .formatted(waiting.used(), waiting.total(), waiting.held(context.account())),
          RETRY_AFTER);
    }
    ProcessorShares.release(); // the holder of the lock may be waiting for it
    try {
      long wait;
      do {
        context.deadline().check();
        health.admit(pin.storage().number());
        if (context.clientHasGone().getAsBoolean()) {
          throw Failure.clientGone();
        }
        wait = Math.clamp(context.deadline().remainingNanos(), 0, POLL_NANOS);
      } while (!pin.tryLock(access, wait));
    } finally {
      waiting.remove(context.account(), 1);
    }
  }

  /** Returns the number of waiting calls. */
  public long waiting() {
    return waiting.used();
  }
}
