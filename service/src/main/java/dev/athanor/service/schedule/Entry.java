package dev.athanor.service.schedule;

import static java.util.Comparator.comparingLong;

import java.util.Comparator;

/** An admitted ticket and its state. */
final class Entry {

  /** The state of a ticket. */
  enum State {
    QUEUED,
    RUNNING,
    /** The client has been answered; the launch may still be running. */
    CLOSED
  }

  /** Orders by band, then by due time, then by arrival. */
  static final Comparator<Entry> BY_TURN =
      comparingLong((Entry e) -> e.band)
          .thenComparingLong(e -> e.due)
          .thenComparingLong(e -> e.sequence);

  /** Orders by deadline, then by arrival. */
  static final Comparator<Entry> BY_DEADLINE =
      comparingLong((Entry e) -> e.ticket.deadline()).thenComparingLong(e -> e.sequence);

  /** Orders by the time of promotion, then by arrival. */
  static final Comparator<Entry> BY_RISE =
      comparingLong((Entry e) -> e.rises).thenComparingLong(e -> e.sequence);

  static final int MAX_URGENCY = Long.SIZE;

  final Ticket ticket;
  final long cost;
  final long sequence;

  /**
   * The due time, which orders the tickets of a tenant in one band: the deadline or, to avoid
   * starvation, the time at which a ticket without one has aged through all bands.
   */
  final long due;

  /** The bit length of {@code due - now} at arrival. */
  final int urgency;

  int band;

  /** When it is promoted to the next band. */
  long rises;

  State state = State.QUEUED;

  Entry(Ticket ticket, long cost, long sequence, long now, Policy policy) {
    this.ticket = ticket;
    this.cost = cost;
    this.sequence = sequence;
    band = ticket.band() == Ticket.MIDDLE ? policy.middle() : ticket.band();
    long age = policy.age().toNanos();
    rises = now + age;
    due = ticket.deadline() == Ticket.NEVER ? now + policy.bands() * age : ticket.deadline();
    urgency = Long.SIZE - Long.numberOfLeadingZeros(Math.max(0, due - now));
  }
}
