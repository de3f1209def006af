package dev.athanor.cli.load;

import java.time.Duration;
import java.util.Optional;

/**
 * How long a measurement goes on: in windows, until throughput and mean latency of the last three
 * lie within a share of their mean (as perf_analyzer has it), or for one window of a fixed length.
 *
 * @param warmup what goes before and is not counted
 * @param fixed the length of the only window; empty when windows are repeated
 * @param trials after how many windows it ends, stable or not
 * @param stability the share, such as 0.1
 * @param patient whether a closed loop waits as long as {@code Retry-After} says
 * @param seed of the times of Poisson arrivals
 */
public record Course(
    Duration warmup,
    Duration window,
    Optional<Duration> fixed,
    int trials,
    double stability,
    boolean patient,
    long seed) {

  /** The windows that agree with each other. */
  static final int AGREEING = 3;
}
