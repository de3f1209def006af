package dev.athanor.cli.load;

import dev.athanor.client.Timing;
import java.time.Duration;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A successful response of the service.
 *
 * @param phases the times of the service's phases in nanoseconds
 * @param correct compares the result with the expected one; only valid for checked requests
 */
record Response(Map<String, Long> phases, BooleanSupplier correct) {

  /**
   * Returns a response with the phases that the Java client received.
   *
   * @param timing null if the response had no timing
   */
  static Response of(@Nullable Timing timing, BooleanSupplier correct) {
    if (timing == null) {
      return new Response(Map.of(), correct);
    }
    return new Response(
        Map.of(
            "prepare", nanos(timing.prepare()),
            "queue", nanos(timing.queue()),
            "upload", nanos(timing.upload()),
            "kernel", nanos(timing.kernel()),
            "download", nanos(timing.download()),
            "total", nanos(timing.total())),
        correct);
  }

  private static long nanos(Duration duration) {
    return duration.toNanos();
  }
}
