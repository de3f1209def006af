package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.bench.Baseline;
import dev.athanor.ops.bench.Ceilings;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.OpBench;
import dev.athanor.ops.bench.Samples;
import dev.athanor.ops.bench.Units;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The results of {@code athanor bench}.
 *
 * @param baselines the libraries that ours is compared with
 * @param ceilings the measured peak rates of the device; absent on the emulator
 * @param lost the reason if the device was lost before all was measured
 * @param unmeasured the number of problems that were not measured; positive if the measurement was
 *     stopped early
 * @param spills kernels that spill registers on the device, which are correct but slow
 */
public record BenchReport(
    Build athanor,
    Machine device,
    Instant date,
    List<Library> baselines,
    Optional<Ceilings> ceilings,
    Effort effort,
    long seed,
    boolean ok,
    Optional<String> lost,
    int unmeasured,
    List<Row> rows,
    List<KernelCache.Spill> spills) {

  /**
   * A baseline.
   *
   * @param library the short name
   * @param name the name and version
   * @param missing the reason if it was not measured
   * @param ratios the ratios of our times to the library's, over all rows
   */
  record Library(String library, String name, Optional<String> missing, Optional<Ratios> ratios) {

    private static Library of(Baseline baseline, List<Row> rows) {
      var library = baseline.library();
      return new Library(
          library,
          baseline.name(),
          baseline.missing(),
          Ratios.of(
              rows.stream()
                  .flatMap(row -> row.theirs(library).stream())
                  .flatMap(theirs -> theirs.ratio.stream())
                  .mapToDouble(ratio -> ratio)
                  .sorted()
                  .toArray()));
    }
  }

  /**
   * The result of a problem on a baseline.
   *
   * @param ratio our median over the library's; below 1, ours is faster
   * @param remark the library calls, or the reason if it was not timed
   */
  record Theirs(String library, Optional<Samples> micros, Optional<Double> ratio, String remark) {}

  /**
   * The result of a problem on a kernel variant. Times are in microseconds.
   *
   * @param error the error of sampled output elements
   * @param teraflops the rate at the median time
   * @param gigabytesPerSecond the rate at the median time, with each input read once and each
   *     output written once
   * @param ofCeiling the minimum time by the ceilings over the median time
   */
  public record Row(
      String op,
      String problem,
      String kernel,
      int bufferSets,
      double error,
      double limit,
      Optional<Samples> micros,
      Optional<Double> teraflops,
      Optional<Double> gigabytesPerSecond,
      Optional<Double> ofCeiling,
      List<Theirs> baselines,
      Optional<String> failure) {

    private Optional<Theirs> theirs(String library) {
      return baselines.stream().filter(theirs -> theirs.library.equals(library)).findFirst();
    }

    static Row of(OpBench.Row row, Optional<Ceilings> ceilings) {
      var problem = row.problem();
      var median = row.ours().map(Samples::median);
      return new Row(
          problem.op().description().name(),
          problem.text(),
          row.kernel(),
          row.sets(),
          row.error(),
          row.limit(),
          row.ours(),
          median.map(micros -> row.cost().flops() / micros / 1e6),
          median.map(micros -> row.cost().bytes() / micros / 1e3),
          ceilings.flatMap(
              most -> median.map(micros -> most.leastMicros(problem, row.cost()) / micros)),
          row.theirs().stream()
              .map(theirs ->
                  new Theirs(
                      theirs.library(), theirs.samples(), row.ratio(theirs), theirs.remark()))
              .toList(),
          row.failure());
    }
  }

  /** The ratios of our times to a baseline's. */
  record Ratios(double median, double worst, int rows) {

    static Optional<Ratios> of(double[] sorted) {
      int n = sorted.length;
      return n == 0
          ? Optional.empty()
          : Optional.of(new Ratios((sorted[(n - 1) / 2] + sorted[n / 2]) / 2, sorted[n - 1], n));
    }
  }

  public static BenchReport of(
      Machine device,
      Instant date,
      List<? extends Baseline> baselines,
      Optional<Ceilings> ceilings,
      Effort effort,
      long seed,
      Optional<String> lost,
      int unmeasured,
      List<OpBench.Row> measured,
      List<KernelCache.Spill> spills) {
    var rows = measured.stream().map(row -> Row.of(row, ceilings)).toList();
    return new BenchReport(
        Build.current(),
        device,
        date,
        baselines.stream().map(baseline -> Library.of(baseline, rows)).toList(),
        ceilings,
        effort,
        seed,
        unmeasured == 0 && rows.stream().allMatch(row -> row.failure.isEmpty()),
        lost,
        unmeasured,
        rows,
        spills);
  }

  @JsonIgnore
  public Table table() {
    var headings =
        new ArrayList<>(
            List.of("op", "problem", "kernel", "median", "min", "max", "compute", "bandwidth"));
    if (ceilings.isPresent()) {
      headings.add("of ceiling");
    }
    for (var other : baselines) {
      headings.addAll(List.of(other.library, "ratio"));
    }
    headings.add("verdict");
    var table = new Table(headings.toArray(String[]::new));
    for (var row : rows) {
      var cells =
          new ArrayList<>(
              List.of(
                  row.op,
                  row.problem,
                  row.kernel,
                  time(row.micros.map(Samples::median)),
                  time(row.micros.map(Samples::min)),
                  time(row.micros.map(Samples::max)),
                  row.teraflops.map(rate -> Units.flops(1e12 * rate)).orElse(""),
                  row.gigabytesPerSecond.map(rate -> Units.bytes(1e9 * rate)).orElse("")));
      if (ceilings.isPresent()) {
        cells.add(row.ofCeiling.map(share -> "%.0f%%".formatted(100 * share)).orElse(""));
      }
      for (var other : baselines) {
        var theirs = row.theirs(other.library);
        cells.add(time(theirs.flatMap(Theirs::micros).map(Samples::median)));
        cells.add(theirs.flatMap(Theirs::ratio).map("%.3f"::formatted).orElse(""));
      }
      cells.add(row.failure.isEmpty() ? "ok" : "FAILED");
      table.add(cells.toArray(String[]::new));
    }
    return table;
  }

  private static String time(Optional<Double> micros) {
    return micros.map(Units::time).orElse("");
  }

  /** Returns the notes below the table, one per line. */
  public List<String> notes() {
    var notes = new ArrayList<String>();
    for (var row : rows) {
      row.failure.ifPresent(
          failure -> notes.add("FAILED %s %s: %s".formatted(row.op, row.problem, failure)));
    }
    spills.forEach(spill -> notes.add(VerifyReport.line(spill)));
    ceilings.ifPresent(most ->
        notes.add(
            "measured peak rates of the device: copy %.0f GB/s, reads plus writes; matrix product %s"
                .formatted(
                    most.bytesPerSecond() / 1e9,
                    most.flops().entrySet().stream()
                        .sorted(Map.Entry.comparingByKey())
                        .map(each ->
                            "%s %.0f TFLOP/s"
                                .formatted(each.getKey().text(), each.getValue() / 1e12))
                        .collect(Collectors.joining(", ")))));
    lost.ifPresent(reason -> notes.add("the measurement ended early: " + reason));
    if (unmeasured > 0) {
      notes.add("INCOMPLETE: %d problems were not measured".formatted(unmeasured));
    }
    rows.stream()
        .flatMap(row ->
            row.baselines.stream()
                .filter(theirs -> !theirs.remark.isEmpty())
                .map(theirs -> "%s, %s: %s".formatted(theirs.library, row.op, theirs.remark)))
        .distinct()
        .forEach(notes::add);
    for (var other : baselines) {
      other.missing.ifPresent(
          reason -> notes.add("NOT MEASURED %s: %s".formatted(other.library, reason)));
      other.ratios.ifPresent(r ->
          notes.add(
              "ours / %s: median %.3f, worst %.3f of %d rows; below 1 ours is faster"
                  .formatted(other.name, r.median, r.worst, r.rows)));
    }
    long failed = rows.stream().filter(row -> row.failure.isPresent()).count();
    notes.add(
        "%s: %d rows, %d failed; seed %d"
            .formatted(ok ? "ok" : "FAILED", rows.size(), failed, seed));
    return notes;
  }

  /** Returns the report as Markdown. */
  public List<String> markdown() {
    var lines = new ArrayList<String>();
    lines.add("# athanor %s bench".formatted(athanor.version()));
    lines.add("");
    lines.add("%s, on %s.".formatted(date, device));
    lines.add("");
    lines.add(
        "%d warm-up launches, then at least %d samples and %s ms per row; normally distributed inputs."
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
