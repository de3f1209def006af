package dev.athanor.testing;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Decides from successive measurements whether a test run hangs. */
final class HangCriterion {

  private final Duration busyLimit;
  private final Duration idle;
  private final int idleIntervals;

  private long progress = -1;
  private Duration atProgress = Duration.ZERO;
  private Duration last = Duration.ZERO;
  private int idleSince;

  /**
   * @param busyLimit processor time without progress
   * @param idle processor time of an interval up to which it counts as idle
   * @param idleIntervals idle intervals in a row without progress
   */
  HangCriterion(Duration busyLimit, Duration idle, int idleIntervals) {
    this.busyLimit = busyLimit;
    this.idle = idle;
    this.idleIntervals = idleIntervals;
  }

  /**
   * Takes the measurements of the next interval.
   *
   * @param newProgress a number that changes with each progress
   * @param processorTime used by the run so far; it falls when a child process ends
   * @return why the run hangs; null if it does not
   */
  @Nullable String next(long newProgress, Duration processorTime) {
    var used = processorTime.minus(last).abs();
    last = processorTime;
    if (newProgress != progress || processorTime.compareTo(atProgress) < 0) {
      progress = newProgress;
      atProgress = processorTime;
      idleSince = 0;
      return null;
    }
    idleSince = used.compareTo(idle) > 0 ? 0 : idleSince + 1;
    if (idleSince >= idleIntervals) {
      return "The test run hangs: it has waited for %d intervals without using the processor."
          .formatted(idleIntervals);
    }
    var busy = processorTime.minus(atProgress);
    return busy.compareTo(busyLimit) > 0
        ? "The test run hangs: no test has started or ended in %d minutes of processor time."
            .formatted(busyLimit.toMinutes())
        : null;
  }
}
