package dev.athanor.service.schedule;

import static java.util.Comparator.comparingLong;

import java.util.Comparator;

/** An admitted ticket on its way. */
final class Entry {

  /** Where it is on its way. */
  enum State {
    QUEUED,
    RUNNING,
    /** Its client has had its answer; a launch may still be working on it. */
    CLOSED
  }

  /** Earliest deadline first; the order in which they came decides between equals. */
  static final Comparator<Entry> BY_DUE =
      comparingLong((Entry e) -> e.due).thenComparingLong(e -> e.sequence);

  /** Whose deadline passes first. */
  static final Comparator<Entry> BY_DEADLINE =
      comparingLong((Entry e) -> e.ticket.deadline()).thenComparingLong(e -> e.sequence);

  /** Who rises first. */
  static final Comparator<Entry> BY_RISE =
      comparingLong((Entry e) -> e.rises).thenComparingLong(e -> e.sequence);

  final Ticket ticket;
  final long cost;
  final long sequence;

  /**
   * Its place among its tenant's: its deadline, or, lest those without one wait for ever, the time
   * by which it has risen through all bands.
   */
  final long due;

  /** How much time it was given: the bits that {@code due - now} had when it came. */
  final int urgency;

  int band;

  /** When it rises to the next band. */
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
