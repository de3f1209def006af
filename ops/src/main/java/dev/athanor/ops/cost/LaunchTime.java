package dev.athanor.ops.cost;

/** A rough model of the time of a launch, by which the planners of products compare kernels. */
public final class LaunchTime {

  /** The time of an empty launch. */
  public static final double MICROSECONDS = 3;

  /**
   * The least time of a launch from end to end, in microseconds, however little it does: assumed,
   * not measured. Predicted bounds use it.
   */
  public static final double LEAST_MICROSECONDS = 2.5;

  /** A round number for the clock of a GPU. */
  public static final double CYCLES_PER_MICROSECOND = 1500;

  /** Multiply-adds of a multiprocessor per cycle without tensor cores. */
  public static final double LANES = 128;

  private LaunchTime() {}

  /**
   * The time of a launch without tensor cores.
   *
   * @param multiplyAdds of each multiprocessor
   */
  public static double microseconds(double multiplyAdds) {
    return MICROSECONDS + multiplyAdds / (LANES * CYCLES_PER_MICROSECOND);
  }
}
