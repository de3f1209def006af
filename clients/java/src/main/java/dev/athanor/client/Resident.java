package dev.athanor.client;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/** The client's ownership of a tensor on the device. It must not refer to the {@link Tensor}. */
final class Resident {

  private static final System.Logger LOG = System.getLogger("dev.athanor.client");

  private final Session session;
  private final String handle;
  private final Duration lease;
  private final AtomicBoolean released = new AtomicBoolean();
  private volatile @Nullable Future<?> renewal;

  Resident(Session session, String handle, Duration lease) {
    this.session = session;
    this.handle = handle;
    this.lease = lease;
  }

  /** Schedules a renewal after a third of the lease, so that two renewals may fail. */
  void scheduleRenewal() {
    if (lease.isZero()) {
      return;
    }
    try {
      renewal =
          session.scheduler.schedule(this::renew, lease.toMillis() / 3, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      return; // the client is closed
    }
    if (released.get()) {
      cancelRenewal();
    }
  }

  private void renew() {
    if (released.get() || session.isClosed()) {
      return;
    }
    Futures.on(
        session.renew(handle, lease),
        (info, failure) -> {
          if (failure instanceof AthanorException refusal
              && (refusal.status() == 404 || refusal.status() == 410)) {
            LOG.log(
                System.Logger.Level.WARNING,
                "The lease of {0} is lost: {1}",
                handle,
                refusal.detail());
          } else {
            scheduleRenewal();
          }
        });
  }

  private void cancelRenewal() {
    var scheduled = renewal;
    if (scheduled != null) {
      scheduled.cancel(false);
    }
  }

  boolean isReleased() {
    return released.get();
  }

  /** Gives up ownership without deleting the tensor; returns false if that was done before. */
  boolean release() {
    if (!released.compareAndSet(false, true)) {
      return false;
    }
    cancelRenewal();
    session.forget(this);
    return true;
  }

  /** Deletes the tensor, once. */
  CompletableFuture<String> free() {
    return release() && !session.isClosed()
        ? session.delete(handle)
        : CompletableFuture.completedFuture(handle);
  }

  /** Frees a tensor that became unreachable before it was closed. */
  void leaked() {
    if (!released.get() && !session.isClosed()) {
      LOG.log(
          System.Logger.Level.WARNING, "Tensor {0} was not closed; the client deletes it.", handle);
      Futures.on(free(), (value, failure) -> {});
    }
  }

  /** Waits for deletions. Failures are logged; the service frees those tensors by their leases. */
  static void awaitQuietly(List<? extends CompletableFuture<?>> deletions) {
    for (var deletion : deletions) {
      try {
        deletion.join();
      } catch (CompletionException | CancellationException e) {
        LOG.log(System.Logger.Level.WARNING, "A tensor was not deleted; its lease will end.", e);
      }
    }
  }
}
