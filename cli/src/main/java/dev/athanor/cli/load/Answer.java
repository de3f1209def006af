package dev.athanor.cli.load;

import dev.athanor.client.Timing;
import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A result of the service.
 *
 * @param phases how long its parts took the service, in nanoseconds
 * @param right whether the result is right, of an answer that was to be checked
 */
record Answer(Map<String, Long> phases, BooleanSupplier right) {

  /**
   * Returns an answer with the phases that the Java client was told.
   *
   * @param timing null if it was told none
   */
  static Answer of(@Nullable Timing timing, BooleanSupplier right) {
    if (timing == null) {
      return new Answer(Map.of(), right);
    }
    return new Answer(
        Map.of(
            "prepare", nanos(timing.prepare()),
            "queue", nanos(timing.queue()),
            "upload", nanos(timing.upload()),
            "kernel", nanos(timing.kernel()),
            "download", nanos(timing.download()),
            "total", nanos(timing.total())),
        right);
  }

  private static long nanos(Duration duration) {
    return duration.toNanos();
  }
}
