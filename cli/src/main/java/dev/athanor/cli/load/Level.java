package dev.athanor.cli.load;

/** How hard the service is pressed. */
public sealed interface Level {

  /** How many requests have tensors of their own. */
  int slots();

  /** Closed loop: each client sends its next request when it has the answer to the last. */
  record Clients(int slots) implements Level {}

  /**
   * Open loop: requests are due at times that do not depend on answers, and are counted from when
   * they were due, so that a service that stalls cannot hide the requests that it kept from being
   * sent (no coordinated omission).
   *
   * @param perSecond the mean rate
   * @param poisson whether the times between are exponentially distributed instead of equal
   */
  record Rate(double perSecond, boolean poisson) implements Level {
    @Override
    public int slots() {
      return 16;
    }
  }
}
