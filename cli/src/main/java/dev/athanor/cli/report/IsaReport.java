package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.engine.conformance.Finding;
import dev.athanor.ops.bench.Units;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * A comparison of a device's instructions with the emulator's.
 *
 * @param instructions number of compared instructions
 * @param planned number of instructions to compare; more than were reached if the device was lost
 * @param skipped instructions that the driver does not support
 */
public record IsaReport(
    Build athanor,
    Machine device,
    Instant date,
    double seconds,
    VerifyReport.Scope scope,
    boolean ok,
    int instructions,
    int planned,
    List<Row> rows,
    List<Failed> failures,
    List<String> skipped)
    implements SuiteReport {

  /**
   * The instruction forms with one mnemonic.
   *
   * @param spellings number of forms
   * @param values number of compared results
   * @param differing number of results that are not bit-identical to the emulator's
   * @param wrong number of results outside the tolerance of the PTX manual
   * @param ok whether all are within the tolerance
   */
  record Row(String mnemonic, int spellings, long values, long differing, long wrong, boolean ok) {}

  /** An instruction with wrong results. */
  record Failed(String instruction, int values, int wrong, List<String> lines, String repeat) {}

  public static IsaReport of(
      Machine machine,
      Instant date,
      double seconds,
      VerifyReport.Scope scope,
      int planned,
      List<Finding> findings) {
    var compared = findings.stream().filter(finding -> !finding.isTooNew()).toList();
    var rows = new TreeMap<String, Row>();
    for (var finding : compared) {
      var name = finding.probe().mnemonic();
      rows.merge(
          name,
          new Row(
              name,
              1,
              finding.values(),
              finding.values() - finding.equal(),
              finding.wrong(),
              finding.ok()),
          (a, b) ->
              new Row(
                  name,
                  a.spellings + b.spellings,
                  a.values + b.values,
                  a.differing + b.differing,
                  a.wrong + b.wrong,
                  a.ok && b.ok));
    }
    var failures =
        compared.stream()
            .filter(finding -> !finding.ok())
            .map(finding -> failed(machine, scope, finding))
            .toList();
    return new IsaReport(
        Build.current(),
        machine,
        date,
        seconds,
        scope,
        failures.isEmpty() && !compared.isEmpty() && findings.size() == planned,
        compared.size(),
        planned,
        List.copyOf(rows.values()),
        failures,
        findings.stream().filter(Finding::isTooNew).map(f -> f.probe().name()).toList());
  }

  private static Failed failed(Machine machine, VerifyReport.Scope scope, Finding finding) {
    return new Failed(
        finding.probe().name(),
        finding.values(),
        finding.wrong(),
        finding.lines(),
        "athanor verify --suite isa --device %s%s --seed %d --instruction %s"
            .formatted(
                machine.option(),
                scope.quick() ? " --quick" : "",
                scope.seed(),
                finding.probe().mnemonic()));
  }

  @Override
  @JsonIgnore
  public Table table() {
    var table = new Table("instruction", "forms", "results", "not bit-identical", "verdict");
    for (var row : rows) {
      table.add(
          row.mnemonic,
          Integer.toString(row.spellings),
          Long.toString(row.values),
          Long.toString(row.differing),
          row.ok ? "ok" : "FAILED");
    }
    return table;
  }

  @Override
  @JsonIgnore
  public List<String> complaints() {
    var lines = new ArrayList<String>();
    for (var failure : failures) {
      lines.add(
          "FAILED %s: %d of %d results are wrong"
              .formatted(failure.instruction, failure.wrong, failure.values));
      failure.lines.forEach(line -> lines.add("  " + line));
      lines.add("  repeat: " + failure.repeat);
      lines.add("");
    }
    return lines;
  }

  @Override
  public String summary() {
    var summary =
        "%s: %d instructions compared with the emulator in %s, %d failed; seed %d"
            .formatted(
                ok ? "ok" : "FAILED",
                instructions,
                Units.time(1e6 * seconds),
                failures.size(),
                scope.seed());
    if (!skipped.isEmpty()) {
      summary +=
          "%n%d instructions were skipped because the driver does not support them; the first: %s"
              .formatted(skipped.size(), skipped.getFirst());
    }
    int lost = planned - instructions - skipped.size();
    if (lost > 0) {
      summary += "%nthe device was lost; %d instructions were not compared".formatted(lost);
    }
    return summary;
  }
}
