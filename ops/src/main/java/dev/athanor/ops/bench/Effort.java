package dev.athanor.ops.bench;

/**
 * How long to measure.
 *
 * @param warmup launches of each contender before the clock runs
 * @param repeat the fewest samples of each
 * @param minMillis samples go on until those of the first contender add up to so much
 */
public record Effort(int warmup, int repeat, double minMillis) {

  /**
   * Checks the numbers.
   *
   * @throws IllegalArgumentException for a number below the least
   */
  public Effort {
    if (warmup < 1 || repeat < 1 || !(minMillis >= 0)) {
      throw new IllegalArgumentException(
          "warmup and repeat are at least 1 and the time at least 0, got %d, %d and %s"
              .formatted(warmup, repeat, minMillis));
    }
  }
}
