package dev.athanor.cli.load;

/** A load level. */
public sealed interface Level {

  /** Number of slots. Each has its own tensors. */
  int slots();

  /** A closed loop: each client sends its next request after the response to the last. */
  record Clients(int slots) implements Level {}

  /**
   * An open loop: requests are scheduled independently of responses. Latency is measured from the
   * scheduled time, which avoids coordinated omission.
   *
   * @param perSecond the mean rate
   * @param poisson whether intervals are exponentially distributed instead of constant
   */
  record Rate(double perSecond, boolean poisson) implements Level {
    @Override
    public int slots() {
      return 16;
    }
  }
}
