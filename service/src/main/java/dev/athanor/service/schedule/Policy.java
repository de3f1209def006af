package dev.athanor.service.schedule;

import static dev.athanor.service.schedule.Ticket.atLeast;

import java.time.Duration;

/**
 * The parameters of the scheduler.
 *
 * @param bands the number of priority bands; band 1 is served first
 * @param age the waiting time after which a ticket is promoted by one band
 * @param arrears how much device time a tenant may get ahead of its turn by joining batches, and
 *     thus by how much its batch delays others
 * @param queue the limits of the queue
 * @param batch the limits of a launch
 * @param drainDelay how long a draining service, which is no longer ready, still accepts work
 * @param drainTimeout how long accepted work may take after the drain delay
 * @param shares how tenants share the queue and the device time
 */
public record Policy(
    int bands,
    Duration age,
    Duration arrears,
    Queue queue,
    Launch batch,
    Duration drainDelay,
    Duration drainTimeout,
    TenantShares shares) {

  /** Default parameters for a service with one GPU. */
  public static final Policy DEFAULT =
      new Policy(
          5,
          Duration.ofSeconds(1),
          Duration.ofMillis(20),
          new Queue(1024, Duration.ofSeconds(10), 1L << 30),
          new Launch(64, 1 << 16),
          Duration.ofSeconds(5),
          Duration.ofSeconds(20),
          TenantShares.UNLIMITED);

  /**
   * The limits of waiting tickets; running tickets do not count.
   *
   * @param cost maximum sum of the estimates
   */
  public record Queue(int tickets, Duration cost, long hostBytes) {
    public Queue {
      atLeast(1, tickets, "the queue's tickets");
      positive(cost, "the queue's cost");
      atLeast(0, hostBytes, "the queue's host bytes");
    }
  }

  /** The limits of a launch; a ticket with more rows runs alone. */
  public record Launch(int tickets, long rows) {
    public Launch {
      atLeast(1, tickets, "a launch's tickets");
      atLeast(1, rows, "a launch's rows");
    }
  }

  public Policy {
    atLeast(1, bands, "the number of bands");
    positive(age, "the age at which a ticket rises");
    atLeast(0, arrears.toNanos(), "the arrears in nanoseconds");
    atLeast(0, drainDelay.toNanos(), "the drain delay in nanoseconds");
    atLeast(0, drainTimeout.toNanos(), "the drain timeout in nanoseconds");
  }

  /** Returns the band of tickets without a priority. */
  public int middle() {
    return (bands + 1) / 2;
  }

  private static void positive(Duration given, String what) {
    if (!given.isPositive()) {
      throw new IllegalArgumentException("%s must be positive, got %s".formatted(what, given));
    }
  }
}
