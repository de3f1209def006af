package dev.athanor.testing;

/** Timeouts in tests whose result must not depend on the speed of the machine. */
public final class Timeouts {

  private Timeouts() {}

  /** A test that something begins before a timeout, and ends by the timeout. */
  @FunctionalInterface
  public interface Attempt {
    /**
     * Makes an attempt.
     *
     * @return false if the timeout expired too early, because the machine is slow
     */
    boolean with(int millis) throws Exception;
  }

  /** Repeats a test with twice the timeout until the timeout is long enough for this machine. */
  public static void lengthen(int millis, Attempt attempt) throws Exception {
    for (int next = millis; !attempt.with(next); next = Math.multiplyExact(next, 2)) {
      System.out.printf("Repeating a test, because %d ms were too short.%n", next);
    }
  }
}
