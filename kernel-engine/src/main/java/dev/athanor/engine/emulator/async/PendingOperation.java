package dev.athanor.engine.emulator.async;

/** A piece of work that a thread has issued and that goes on beside the threads. */
abstract class PendingOperation {

  private boolean done;

  /** When it was issued, among others of its cluster. */
  long number;

  /** Where it is among what is pending. */
  int place;

  boolean isDone() {
    return done;
  }

  /** Does it, unless it is done. */
  final void finish() {
    if (!done) {
      done = true;
      perform();
    }
  }

  abstract void perform();

  /** It is issued, and will be done later. */
  void delay() {}

  /** All threads have ended, and it is not done. */
  void end() {}
}
