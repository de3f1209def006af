package dev.athanor.cli.report;

import dev.athanor.cli.load.Measurement;
import dev.athanor.cli.load.Measurement.Micros;
import dev.athanor.ops.bench.Units;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The results of {@code athanor load}.
 *
 * @param loadAverage the machine's load average over one minute, at the start and at the end
 */
public record LoadReport(
    Build athanor,
    Instant date,
    String url,
    int processors,
    List<Double> loadAverage,
    List<Measurement> rows) {

  public static double systemLoad() {
    return Math.round(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage() * 10)
        / 10.0;
  }

  public boolean ok() {
    return rows.stream().allMatch(Measurement::correct);
  }

  public Table table() {
    var table =
        new Table(
            "scenario",
            "loop",
            "level",
            "req/s",
            "bytes/s",
            "warm-up",
            "p50",
            "p90",
            "p95",
            "p99",
            "max",
            "kernel",
            "server",
            "outside",
            "above kernel",
            "errors",
            "");
    for (var row : rows) {
      var latency = row.latency();
      table.add(
          row.scenario(),
          row.loop(),
          number(row.level()),
          "%.1f".formatted(row.perSecond()),
          row.megabytesPerSecond().map(rate -> Units.bytes(1e6 * rate)).orElse(""),
          row.warmup().map(micros -> Units.time(micros.p50())).orElse(""),
          Units.time(latency.p50()),
          Units.time(latency.p90()),
          Units.time(latency.p95()),
          Units.time(latency.p99()),
          Units.time(latency.max()),
          median(row, "kernel"),
          median(row, "total"),
          median(row, "outside"),
          median(row, "above"),
          row.errors().entrySet().stream()
              .map(error -> error.getKey() + " " + error.getValue())
              .collect(Collectors.joining(", ")),
          row.wrong() > 0
              ? "WRONG %d of %d".formatted(row.wrong(), row.checked())
              : row.requests() == 0 ? "NO RESULT" : row.stable() ? "" : "unstable");
    }
    return table;
  }

  private static String median(Measurement row, String phase) {
    var micros = row.phases().get(phase);
    return micros == null ? "" : Units.time(micros.p50());
  }

  private static String number(double value) {
    return value == Math.rint(value) ? "%.0f".formatted(value) : "%s".formatted(value);
  }

  public List<String> notes() {
    return List.of(
        "Medians: warm-up (latency before the measurement), kernel, server (total time of the service), outside (latency minus server) and"
            + " above kernel (latency minus kernel).",
        "Open-loop latency starts at the scheduled time of a request. Load average of the machine: %s to %s on %d processors."
            .formatted(loadAverage.getFirst(), loadAverage.getLast(), processors));
  }

  /** Returns the rows as CSV with the columns of perf_analyzer where they apply; times in µs. */
  public List<String> csv() {
    var lines = new ArrayList<String>();
    lines.add(
        "Scenario,Concurrency,Request Rate,Inferences/Second,Network+Server Send/Recv,"
            + "Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,"
            + "p50 latency,p90 latency,p95 latency,p99 latency,Max latency,Avg latency,"
            + "MB/Second,Requests,Errors,Stable");
    for (var row : rows) {
      boolean open = row.loop().equals("open");
      var latency = row.latency();
      lines.add(
          String.join(
              ",",
              "\"" + row.scenario().replace("\"", "\"\"") + "\"",
              open ? "" : number(row.level()),
              open ? number(row.level()) : "",
              "%.2f".formatted(row.perSecond()),
              mean(row.phases(), "outside"),
              mean(row.phases(), "queue"),
              mean(row.phases(), "upload"),
              mean(row.phases(), "kernel"),
              mean(row.phases(), "download"),
              "%.0f".formatted(latency.p50()),
              "%.0f".formatted(latency.p90()),
              "%.0f".formatted(latency.p95()),
              "%.0f".formatted(latency.p99()),
              "%.0f".formatted(latency.max()),
              "%.0f".formatted(latency.mean()),
              row.megabytesPerSecond().map("%.2f"::formatted).orElse(""),
              Long.toString(row.requests()),
              Long.toString(row.errors().values().stream().mapToLong(Long::longValue).sum()),
              Boolean.toString(row.stable())));
    }
    return lines;
  }

  private static String mean(Map<String, Micros> phases, String phase) {
    var micros = phases.get(phase);
    return micros == null ? "" : "%.0f".formatted(micros.mean());
  }
}
