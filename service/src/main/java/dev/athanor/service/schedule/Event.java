package dev.athanor.service.schedule;

/** What the scheduler is told. Streams of a device, like devices, are counted from 0. */
public sealed interface Event {

  /** A ticket asks to be admitted. */
  record Submit(Ticket ticket) implements Event {}

  /** A stream has nothing to do: when it was opened, and again after each launch. */
  record StreamReady(int device, int stream) implements Event {}

  /**
   * What was started on a stream is done, and its results are there.
   *
   * @param nanos how long the launch kept the stream; estimates learn from it
   */
  record Finished(int device, int stream, long nanos) implements Event {}

  /** What was started on a stream has failed; the device goes on. */
  record Faulted(int device, int stream) implements Event {}

  /** Nobody waits for a ticket any more. A ticket that is done already is no error. */
  record Cancel(long id) implements Event {}

  /** Time has passed; due no later than {@link Scheduler#wake}. */
  record Tick() implements Event {}

  /** A device is gone for good, and all that lay on it. */
  record DeviceLost(int device) implements Event {}

  /** The service is to end, in peace; told a second time, at once. */
  record Drain() implements Event {}
}
