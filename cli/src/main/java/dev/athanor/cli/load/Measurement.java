package dev.athanor.cli.load;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.HdrHistogram.Histogram;

/**
 * The result of one scenario at one level.
 *
 * @param loop {@code closed} or {@code open}
 * @param level clients, or requests per second
 * @param stable whether the last windows were stable; true for a fixed length
 * @param seconds the total length of the counted windows
 * @param requests successful requests
 * @param megabytesPerSecond 10⁶ bytes of tensors per second; absent if the scenario has no size
 * @param warmup the latency in the warm-up, which shows the first seconds of a service that has
 *     just started; absent without a warm-up
 * @param latency the latency measured by the client; in an open loop, from the scheduled time
 * @param phases times by {@code Server-Timing}; {@code outside} is latency minus the service's
 *     total, {@code above} is latency minus the kernel
 * @param errors failed requests by error code
 * @param checked number of results that were checked, counting the resident tensors as one
 * @param wrong number of wrong results among them
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
    Optional<Micros> warmup,
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
      Window warmup,
      Window seen,
      boolean residentCorrect) {
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
        Optional.of(warmup)
            .filter(window -> window.requests() > 0)
            .map(window -> Micros.of(window.nanos("latency"))),
        Micros.of(seen.nanos("latency")),
        phases,
        seen.errors(),
        seen.correct() + seen.wrong() + 1,
        seen.wrong() + (residentCorrect ? 0 : 1));
  }

  /** Returns whether there were results and all checked ones are correct. */
  public boolean correct() {
    return wrong == 0 && requests > 0;
  }
}
