package dev.athanor.service.schedule;

import static dev.athanor.service.schedule.Ticket.atLeast;

import java.time.Duration;

/**
 * The numbers that the scheduler goes by.
 *
 * @param bands how many priorities there are; 1 is served first
 * @param age after how long of waiting a ticket rises by one band
 * @param quantum the device time that a tenant is credited in each round of its band; small ones
 *     share finely
 * @param arrears by how much device time the company that batches give may put a tenant ahead of
 *     the others of its band
 * @param queue the most that may wait
 * @param batch the most that one launch may hold
 * @param drainDelay how long a draining service, no longer ready, still lets work in
 * @param drainTimeout how long after that the work under way may take
 */
public record Policy(
    int bands,
    Duration age,
    Duration quantum,
    Duration arrears,
    Queue queue,
    Launch batch,
    Duration drainDelay,
    Duration drainTimeout) {

  /** What a service on one GPU may begin with. */
  public static final Policy DEFAULT =
      new Policy(
          5,
          Duration.ofSeconds(1),
          Duration.ofMillis(1),
          Duration.ofMillis(20),
          new Queue(1024, Duration.ofSeconds(10), 1L << 30),
          new Launch(64, 1 << 16),
          Duration.ofSeconds(5),
          Duration.ofSeconds(20));

  /**
   * The most that may wait; what runs counts no more.
   *
   * @param cost the sum of the estimates
   */
  public record Queue(int tickets, Duration cost, long hostBytes) {
    public Queue {
      atLeast(1, tickets, "the queue's tickets");
      positive(cost, "the queue's cost");
      atLeast(0, hostBytes, "the queue's host bytes");
    }
  }

  /** The most that one launch may hold; a single ticket with more rows runs alone. */
  public record Launch(int tickets, long rows) {
    public Launch {
      atLeast(1, tickets, "a launch's tickets");
      atLeast(1, rows, "a launch's rows");
    }
  }

  public Policy {
    atLeast(1, bands, "the number of bands");
    positive(age, "the age at which a ticket rises");
    positive(quantum, "the quantum");
    atLeast(0, arrears.toNanos(), "the arrears in nanoseconds");
    atLeast(0, drainDelay.toNanos(), "the drain delay in nanoseconds");
    atLeast(0, drainTimeout.toNanos(), "the drain timeout in nanoseconds");
  }

  /** The band of a ticket that names none. */
  public int middle() {
    return (bands + 1) / 2;
  }

  private static void positive(Duration given, String what) {
    if (!given.isPositive()) {
      throw new IllegalArgumentException("%s must be positive, got %s".formatted(what, given));
    }
  }
}
