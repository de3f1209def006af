package dev.athanor.service.schedule;

import java.util.List;

/**
 * What the scheduler has decided. A ticket's last decision is exactly one of {@link Refused},
 * {@link Done}, {@link Expired}, {@link Dropped} and {@link Failed}: the answer to its client.
 * Where that comes before the ticket's launch has ended, the launch is left to finish, and nothing
 * of that ticket is to be kept.
 */
public sealed interface Decision {

  /** Why a ticket gets no result. */
  enum Reason {
    /** As much waits as may. */
    QUEUE_FULL,
    /** The service is ending. */
    DRAINING,
    /** By the estimate it could not be done in time. */
    DEADLINE_EXCEEDED,
    /** The device with its tensors, or every device, is gone. */
    DEVICE_LOST,
    /** Its launch has failed. */
    FAULT
  }

  /**
   * It has its place.
   *
   * @param cost its estimate, corrected by what such work has taken, in nanoseconds
   * @param delay how long it will wait, by the estimate, in nanoseconds
   */
  record Admitted(Ticket ticket, long cost, long delay) implements Decision {}

  /**
   * It is turned away at the door.
   *
   * @param retryAfter in how many seconds it may be worth another try; 0 where time does not help
   */
  record Refused(Ticket ticket, Reason reason, long retryAfter) implements Decision {}

  /** To be run now on that stream, all in one launch. The first is the one whose turn it was. */
  record Started(int device, int stream, List<Ticket> tickets) implements Decision {
    public Started {
      tickets = List.copyOf(tickets);
    }
  }

  /** It is done, in time, and its client is there. */
  record Done(Ticket ticket) implements Decision {}

  /** Its deadline has passed, before it was started or before it was done. */
  record Expired(Ticket ticket) implements Decision {}

  /** Its client has gone. */
  record Dropped(Ticket ticket) implements Decision {}

  /**
   * It was admitted and cannot be done.
   *
   * @param retryAfter as in {@link Refused}
   */
  record Failed(Ticket ticket, Reason reason, long retryAfter) implements Decision {}

  /** No client waits any more and none will be let in: the service may end. */
  record Drained() implements Decision {}
}
