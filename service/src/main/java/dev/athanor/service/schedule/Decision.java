package dev.athanor.service.schedule;

import java.util.List;

/**
 * A decision of the scheduler. The last decision about a ticket is exactly one of {@link Refused},
 * {@link Done}, {@link Expired}, {@link Dropped} and {@link Failed}, and answers the client. If it
 * precedes the end of the ticket's launch, the launch finishes, but the ticket's result is
 * discarded.
 */
public sealed interface Decision {

  /** The reason why a ticket has no result. */
  enum Reason {
    /** The queue is full. */
    QUEUE_FULL,
    /** The service is shutting down. */
    DRAINING,
    /** The estimate exceeds the deadline. */
    DEADLINE_EXCEEDED,
    /** The ticket's device is lost. */
    DEVICE_LOST,
    /** The launch failed. */
    FAULT
  }

  /**
   * The ticket was admitted.
   *
   * @param cost its corrected estimate in nanoseconds
   * @param delay its estimated waiting time in nanoseconds
   */
  record Admitted(Ticket ticket, long cost, long delay) implements Decision {}

  /**
   * The ticket was rejected.
   *
   * @param retryAfter seconds after which a retry may succeed; 0 if waiting does not help
   */
  record Refused(Ticket ticket, Reason reason, long retryAfter) implements Decision {}

  /** Start the tickets as one launch on the stream. The first ticket is the batch leader. */
  record Started(int device, int stream, List<Ticket> tickets) implements Decision {
    public Started {
      tickets = List.copyOf(tickets);
    }
  }

  /** The ticket completed in time, and its client still waits. */
  record Done(Ticket ticket) implements Decision {}

  /** The deadline of the ticket passed before it completed. */
  record Expired(Ticket ticket) implements Decision {}

  /** The client of the ticket disconnected. */
  record Dropped(Ticket ticket) implements Decision {}

  /**
   * An admitted ticket failed.
   *
   * @param retryAfter as in {@link Refused}
   */
  record Failed(Ticket ticket, Reason reason, long retryAfter) implements Decision {}

  /** Draining is complete: no client waits, and the service may stop. */
  record Drained() implements Decision {}
}
