package dev.athanor.engine.emulator.async;

/** An asynchronous operation that a thread has issued. */
abstract class PendingOperation {

  private boolean done;

  /** Its place in the order of issue within the cluster. */
  long number;

  /** Its index in the list of pending operations. */
  int place;

  boolean isDone() {
    return done;
  }

  /** Performs the operation unless it is complete. */
  final void finish() {
    if (!done) {
      done = true;
      perform();
    }
  }

  abstract void perform();

  /** Called when the operation is issued and will be performed later. */
  void delay() {}

  /** Called when all threads have exited before the operation was performed. */
  void end() {}
}
