package dev.athanor.cli.load;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/**
 * What one scenario gave at one level.
 *
 * @param loop {@code closed} or {@code open}
 * @param level clients, or requests a second
 * @param stable whether the last windows agreed; true where the length was fixed
 * @param seconds how long the windows that are counted took together
 * @param requests those that were answered with a result
 * @param megabytesPerSecond 10⁶ bytes of tensors; absent where the scenario has no size
 * @param latency as the client saw it; in an open loop from when the request was due
 * @param phases by {@code Server-Timing}; {@code outside} is latency without the service's total,
 *     {@code above} latency without the kernel
 * @param errors refused requests by their code
 * @param checked how many answers were compared with what was right
 * @param wrong how many of those were not, tensors left behind included
 */
public record Measurement(
    String scenario,
    String loop,
    double level,
    boolean stable,
    int windows,
    double seconds,
    long requests,
    double perSecond,
    Optional<Double> megabytesPerSecond,
    Micros latency,
    Map<String, Micros> phases,
    Map<String, Long> errors,
    long checked,
    long wrong) {

  /** A distribution of times in microseconds. */
  public record Micros(
      double mean, double p50, double p90, double p95, double p99, double p999, double max) {

    static Micros of(Histogram nanos) {
      return new Micros(
          tenths(nanos.getMean()),
          at(nanos, 50),
          at(nanos, 90),
          at(nanos, 95),
          at(nanos, 99),
          at(nanos, 99.9),
          tenths((double) nanos.getMaxValue()));
    }

    private static double at(Histogram nanos, double percentile) {
      return tenths((double) nanos.getValueAtPercentile(percentile));
    }

    private static double tenths(double nanos) {
      return Math.round(nanos / 100) / 10.0;
    }
  }

  static final List<String> PHASES =
      List.of("prepare", "queue", "upload", "kernel", "download", "total", "outside", "above");

  static Measurement of(
      Scenario scenario,
      Level level,
      boolean stable,
      int windows,
      double seconds,
      Window seen,
      boolean leftRight) {
    var phases = new LinkedHashMap<String, Micros>();
    for (var phase : PHASES) {
      var nanos = seen.nanos(phase);
      if (nanos.getTotalCount() > 0) {
        phases.put(phase, Micros.of(nanos));
      }
    }
    double perSecond = seen.requests() / seconds;
    return new Measurement(
        scenario.text(),
        level instanceof Level.Rate ? "open" : "closed",
        level instanceof Level.Rate(double rate, _) ? rate : level.slots(),
        stable,
        windows,
        seconds,
        seen.requests(),
        perSecond,
        scenario.bytes() == 0
            ? Optional.empty()
            : Optional.of(perSecond * (double) scenario.bytes() / 1e6),
        Micros.of(seen.nanos("latency")),
        phases,
        seen.errors(),
        seen.right() + seen.wrong() + 1,
        seen.wrong() + (leftRight ? 0 : 1));
  }

  /** Whether there were results, and none that was looked at was wrong. */
  public boolean right() {
    return wrong == 0 && requests > 0;
  }
}
