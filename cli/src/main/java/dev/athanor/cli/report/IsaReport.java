package dev.athanor.cli.report;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.athanor.engine.conformance.Finding;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * How a device's instructions compare with the emulator's.
 *
 * @param instructions how many were compared
 * @param skipped those that are younger than the driver
 */
public record IsaReport(
    Build athanor,
    Machine device,
    Instant date,
    double seconds,
    VerifyReport.Scope scope,
    boolean ok,
    int instructions,
    List<Row> rows,
    List<Failed> failures,
    List<String> skipped)
    implements SuiteReport {

  /**
   * The instructions of one name.
   *
   * @param spellings how many of them there are
   * @param values how many answers were compared
   * @param differing how many were not the emulator's, bit by bit
   * @param wrong how many were further from it than the manual allows
   * @param ok whether all of them are right
   */
  record Row(String mnemonic, int spellings, long values, long differing, long wrong, boolean ok) {}

  /** An instruction that did not answer as it should. */
  record Failed(String instruction, int values, int wrong, List<String> lines, String repeat) {}

  public static IsaReport of(
      Machine machine,
      Instant date,
      double seconds,
      VerifyReport.Scope scope,
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
        failures.isEmpty() && !compared.isEmpty(),
        compared.size(),
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
    var table = new Table("instruction", "spellings", "answers", "not bit for bit", "verdict");
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
          "FAILED %s %d of %d answers are wrong"
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
    return skipped.isEmpty()
        ? summary
        : summary
            + "%n%d instructions were skipped, which the driver does not know, the first %s"
                .formatted(skipped.size(), skipped.getFirst());
  }
}
