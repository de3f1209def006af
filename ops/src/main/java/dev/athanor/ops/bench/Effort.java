package dev.athanor.ops.bench;

/**
 * The duration of a measurement.
 *
 * @param warmup untimed launches of each contender
 * @param repeat minimum number of samples of each contender
 * @param minMillis minimum total time of the first contender's samples
 */
public record Effort(int warmup, int repeat, double minMillis) {

  /**
   * Checks the values.
   *
   * @throws IllegalArgumentException for a value below its minimum
   */
  public Effort {
    if (warmup < 1 || repeat < 1 || !(minMillis >= 0)) {
      throw new IllegalArgumentException(
          "warmup and repeat must be at least 1 and the time at least 0, got %d, %d and %s"
              .formatted(warmup, repeat, minMillis));
    }
  }
}
