package dev.athanor.ops.cost;

import dev.athanor.engine.device.Capability;

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

  /** Bytes that a multiprocessor receives in a cycle when all do. */
  public static final double BYTES_PER_CYCLE = 32;

  private LaunchTime() {}

  /**
   * The time of a launch without tensor cores.
   *
   * @param multiplyAdds of each multiprocessor
   */
  public static double microseconds(double multiplyAdds) {
    return MICROSECONDS + multiplyAdds / (LANES * CYCLES_PER_MICROSECOND);
  }

  /** The time in which all multiprocessors together read or write so many bytes. */
  public static double memoryMicroseconds(double bytes, Capability device) {
    return bytes / (BYTES_PER_CYCLE * device.multiprocessors() * CYCLES_PER_MICROSECOND);
  }
}
