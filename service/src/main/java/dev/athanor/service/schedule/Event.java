package dev.athanor.service.schedule;

/** An event for the scheduler. Devices and their streams are numbered from 0. */
public sealed interface Event {

  /** A ticket is submitted. */
  record Submit(Ticket ticket) implements Event {}

  /** A stream is ready: after it was opened, and after each launch. */
  record StreamReady(int device, int stream) implements Event {}

  /**
   * The launch on a stream has finished successfully.
   *
   * @param nanos the duration of the launch, which corrects estimates
   */
  record Finished(int device, int stream, long nanos) implements Event {}

  /** The launch on a stream has failed; the device is still usable. */
  record Faulted(int device, int stream) implements Event {}

  /** The client of a ticket has stopped waiting. Ignored if the ticket has completed. */
  record Cancel(long id) implements Event {}

  /** Time has passed; due at the latest at {@link Scheduler#wake}. */
  record Tick() implements Event {}

  /** A device is lost. */
  record DeviceLost(int device) implements Event {}

  /** The service shuts down: gracefully the first time, immediately the second time. */
  record Drain() implements Event {}
}
