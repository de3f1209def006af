package dev.athanor.cli.load;

import java.time.Duration;
import java.util.Optional;

/**
 * The duration of a measurement. Windows are repeated until throughput and mean latency of the last
 * three are stable, as in perf_analyzer, or one window of a fixed length is measured.
 *
 * @param warmup time before the first window; its requests are not counted
 * @param fixed the length of the only window; empty if windows are repeated
 * @param trials maximum number of windows
 * @param stability maximum relative deviation from the mean of the last windows, such as 0.1
 * @param honorsRetryAfter whether clients of a closed loop wait for {@code Retry-After}
 * @param seed seed of Poisson arrivals
 */
public record MeasurementPlan(
    Duration warmup,
    Duration window,
    Optional<Duration> fixed,
    int trials,
    double stability,
    boolean honorsRetryAfter,
    long seed) {

  /** Consecutive windows that must be stable. */
  static final int STABLE_WINDOWS = 3;
}
