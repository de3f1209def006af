package dev.athanor.service.stream;

import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Cancels the jobs of clients that have disconnected. */
final class ClientWatch {

  private static final Logger LOG = LoggerFactory.getLogger(ClientWatch.class);

  private final Supplier<List<PendingJob>> pendingJobs;
  private final Consumer<PendingJob> cancel;

  private ClientWatch(Supplier<List<PendingJob>> pendingJobs, Consumer<PendingJob> cancel) {
    this.pendingJobs = pendingJobs;
    this.cancel = cancel;
  }

  /** Starts a thread that watches clients until it is interrupted. */
  static Thread start(Supplier<List<PendingJob>> pendingJobs, Consumer<PendingJob> cancel) {
    var watch = new ClientWatch(pendingJobs, cancel);
    return Thread.ofPlatform().daemon().name("client-watch").start(watch::run);
  }

  private void run() {
    try {
      while (true) {
        Thread.sleep(WaitingClient.FIRST_CHECK);
        long now = System.nanoTime();
        for (var pending : pendingJobs.get()) {
          if (hasGone(pending, now)) {
            // closing the job may wait for the device
            var _ = Thread.startVirtualThread(() -> cancel.accept(pending));
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // the pool was closed
    }
  }

  private static boolean hasGone(PendingJob pending, long now) {
    try {
      return pending.client.hasGone(now);
    } catch (RuntimeException e) {
      LOG.debug("Cannot check the client of job {}", pending.id, e);
      return false;
    }
  }
}
