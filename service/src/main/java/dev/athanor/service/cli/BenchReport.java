package dev.athanor.service.cli;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.MatmulBench;
import dev.athanor.ops.bench.Samples;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What {@code athanor bench matmul} measured.
 *
 * @param baseline its name and version
 * @param lost why not everything was measured, where the device was lost
 * @param ratios ours to theirs, over all rows
 */
record BenchReport(
    Build athanor,
    Machine device,
    Instant date,
    Optional<String> baseline,
    Effort effort,
    long seed,
    boolean ok,
    Optional<String> lost,
    List<Row> rows,
    Optional<Ratios> ratios) {

  /**
   * A product on a kernel variant. Times are microseconds.
   *
   * @param error of sampled elements of c: ‖c − ref‖ / ‖ref‖
   * @param teraflops from the median
   * @param gigabytesPerSecond each input read once and c written once, from the median
   * @param ratio of the medians, ours to theirs: below 1 ours is faster
   */
  record Row(
      String op,
      String dtype,
      String transpose,
      int m,
      int n,
      int k,
      String kernel,
      int bufferSets,
      double error,
      double limit,
      Optional<Samples> micros,
      Optional<Double> teraflops,
      Optional<Double> gigabytesPerSecond,
      Optional<Samples> baselineMicros,
      Optional<Double> ratio,
      Optional<String> failure) {

    static Row of(MatmulBench.Row row) {
      var work = row.workload();
      var median = row.ours().map(Samples::median);
      return new Row(
          "matmul",
          work.dtype().text(),
          work.transposes(),
          work.m(),
          work.n(),
          work.k(),
          row.kernel(),
          row.sets(),
          row.error(),
          row.limit(),
          row.ours(),
          median.map(micros -> row.cost().flops() / micros / 1e6),
          median.map(micros -> row.cost().bytes() / micros / 1e3),
          row.theirs(),
          row.ratio(),
          row.failure());
    }
  }

  /** Times of ours over times of the baseline. */
  record Ratios(double median, double worst, int rows) {

    static Optional<Ratios> of(List<Row> rows) {
      var all =
          rows.stream().flatMap(row -> row.ratio.stream()).mapToDouble(r -> r).sorted().toArray();
      int n = all.length;
      return n == 0
          ? Optional.empty()
          : Optional.of(new Ratios((all[(n - 1) / 2] + all[n / 2]) / 2, all[n - 1], n));
    }
  }

  static BenchReport of(
      Machine device,
      Instant date,
      Optional<String> baseline,
      Effort effort,
      long seed,
      Optional<String> lost,
      List<MatmulBench.Row> measured) {
    var rows = measured.stream().map(Row::of).toList();
    return new BenchReport(
        Build.current(),
        device,
        date,
        baseline,
        effort,
        seed,
        lost.isEmpty() && rows.stream().allMatch(row -> row.failure.isEmpty()),
        lost,
        rows,
        Ratios.of(rows));
  }

  @JsonIgnore
  Table table() {
    var headings =
        new ArrayList<>(
            List.of(
                "dtype",
                "ab",
                "M",
                "N",
                "K",
                "kernel",
                "median µs",
                "min",
                "max",
                "TFLOP/s",
                "GB/s"));
    if (baseline.isPresent()) {
      headings.addAll(List.of("baseline µs", "ratio"));
    }
    headings.add("verdict");
    var table = new Table(headings.toArray(String[]::new));
    for (var row : rows) {
      var cells =
          new ArrayList<>(
              List.of(
                  row.dtype,
                  row.transpose,
                  Integer.toString(row.m),
                  Integer.toString(row.n),
                  Integer.toString(row.k),
                  row.kernel,
                  number(row.micros.map(Samples::median)),
                  number(row.micros.map(Samples::min)),
                  number(row.micros.map(Samples::max)),
                  number(row.teraflops),
                  number(row.gigabytesPerSecond)));
      if (baseline.isPresent()) {
        cells.add(number(row.baselineMicros.map(Samples::median)));
        cells.add(row.ratio.map("%.3f"::formatted).orElse(""));
      }
      cells.add(row.failure.isEmpty() ? "ok" : "FAILED");
      table.add(cells.toArray(String[]::new));
    }
    return table;
  }

  /** To four digits or whole. */
  private static String number(Optional<Double> value) {
    return value
        .map(v -> {
          int decimals = v <= 0 ? 0 : (int) Math.clamp(3 - Math.floor(Math.log10(v)), 0, 6);
          return ("%." + decimals + "f").formatted(v);
        })
        .orElse("");
  }

  /** What the table does not say, a line each. */
  List<String> notes() {
    var notes = new ArrayList<String>();
    for (var row : rows) {
      row.failure.ifPresent(failure ->
          notes.add(
              "FAILED %s %s %dx%dx%d: %s"
                  .formatted(row.dtype, row.transpose, row.m, row.n, row.k, failure)));
    }
    lost.ifPresent(reason -> notes.add("the measurement ended early: " + reason));
    baseline.ifPresent(name ->
        ratios.ifPresent(r ->
            notes.add(
                "ours / %s: median %.3f, worst %.3f of %d rows; below 1 ours is faster"
                    .formatted(name, r.median, r.worst, r.rows))));
    long failed = rows.stream().filter(row -> row.failure.isPresent()).count();
    notes.add(
        "%s: %d rows, %d failed; seed %d"
            .formatted(ok ? "ok" : "FAILED", rows.size(), failed, seed));
    return notes;
  }

  /** The report for people, to be kept. */
  List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add("# athanor %s bench matmul".formatted(athanor.version()));
    lines.add("");
    lines.add("%s, on %s.".formatted(date, device));
    lines.add("");
    lines.add(
        "Warm-up %d launches, at least %d samples and %s ms of each; normally distributed inputs."
            .formatted(effort.warmup(), effort.repeat(), effort.minMillis()));
    lines.add("");
    lines.addAll(table().markdown());
    for (var note : notes()) {
      lines.add("");
      lines.add(note);
    }
    return lines;
  }
}
