package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.IsaReport;
import dev.athanor.cli.report.Machine;
import dev.athanor.cli.report.Progress;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.SuiteReport;
import dev.athanor.cli.report.VerifyReport;
import dev.athanor.engine.conformance.Conformance;
import dev.athanor.engine.conformance.Finding;
import dev.athanor.engine.conformance.Golden;
import dev.athanor.engine.conformance.Part;
import dev.athanor.engine.device.Device;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Op;
import dev.athanor.ops.check.Check;
import dev.athanor.ops.check.Verification;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor verify}. */
@Command(
    name = "verify",
    description = {
      "Checks every kernel variant of every op against a float64 reference.",
      "With --suite isa, compares every instruction on registers with the emulator instead.",
      "Exit status 0: all results are correct; 1: otherwise."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class VerifyCommand implements Callable<Integer> {

  private final Catalogue catalogue;

  @Spec private CommandSpec spec;

  @Mixin private DeviceOption device;

  @Mixin private PluginsOption plugins;

  @Option(
      names = "--target",
      paramLabel = "TARGET",
      description = "with --device emulator: the target to emulate, such as sm_80 or sm_89")
  private @Nullable String target;

  @Option(
      names = "--sanitize",
      description = "with --device emulator: reports races, uninitialized reads and missing waits")
  private boolean sanitize;

  /** A test suite. */
  enum Suite {
    ops,
    isa,
    all
  }

  @Option(
      names = "--suite",
      defaultValue = "ops",
      description = "the suite: ${COMPLETION-CANDIDATES}; default: ${DEFAULT-VALUE}")
  private Suite suite;

  @Option(
      names = "--quick",
      description = "checks a few cases of each op, and one in sixteen instruction forms")
  private boolean quick;

  @Option(
      names = "--instruction",
      arity = "1..*",
      paramLabel = "NAME",
      description = "checks only these instructions, such as mma, cvt")
  private List<String> mnemonics = new ArrayList<>();

  @Option(
      names = "--goldens",
      paramLabel = "FILE",
      description = "writes the device's results to this file, for tests of the emulator")
  private @Nullable Path goldens;

  @Option(
      names = "--op",
      arity = "1..*",
      paramLabel = "NAME",
      description = "checks only these ops")
  private List<String> names = new ArrayList<>();

  @Option(
      names = "--case",
      paramLabel = "N",
      description = "checks only this case of the op given with --op")
  private @Nullable Integer number;

  @Option(
      names = "--part",
      paramLabel = "I/N",
      description =
          "checks only every N-th case or instruction, starting at the I-th: for parallel processes")
  private String part = "1/1";

  @Option(
      names = "--details",
      description = "prints a row per kernel variant instead of one per op")
  private boolean details;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "seed of random inputs; default: ${DEFAULT-VALUE}")
  private long seed;

  @Option(names = "--json", paramLabel = "FILE", description = "writes all results to this file")
  private @Nullable Path json;

  @Option(names = "--markdown", paramLabel = "FILE", description = "writes the table to this file")
  private @Nullable Path markdown;

  public VerifyCommand() {
    this(Catalogue.load());
  }

  VerifyCommand(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  @Override
  public Integer call() throws IOException {
    if (suite == Suite.isa && (!names.isEmpty() || number != null)) {
      throw usageError("--op and --case require --suite ops or all");
    }
    if (suite == Suite.ops && (!mnemonics.isEmpty() || goldens != null)) {
      throw usageError("--instruction and --goldens require --suite isa or all");
    }
    var ops = chosen(plugins.catalogue(catalogue));
    if (number != null && names.size() != 1) {
      throw usageError("--case %d: requires exactly one --op".formatted(number));
    }
    var checked = part();
    ResultFile.check(spec.commandLine(), "--json", json);
    ResultFile.check(spec.commandLine(), "--markdown", markdown);
    ResultFile.check(spec.commandLine(), "--goldens", goldens);
    var opened = device.open(target, sanitize);
    try (var closing = opened.device()) {
      var machine = Machine.of(opened);
      var out = spec.commandLine().getOut();
      machine.lines().forEach(out::println);
      out.flush();
      var reports = new LinkedHashMap<Suite, SuiteReport>();
      if (suite != Suite.ops) {
        reports.put(Suite.isa, checkInstructions(closing, machine, checked));
      }
      if (suite != Suite.isa) {
        reports.put(Suite.ops, checkOps(closing, machine, ops, checked));
      }
      reports.values().forEach(report -> print(out, report));
      if (json != null) {
        Object written = suite == Suite.all ? reports : reports.firstEntry().getValue();
        ResultFile.write(json, List.of(ResultFile.json(written)));
      }
      ResultFile.write(
          markdown, reports.values().stream().flatMap(r -> r.markdown().stream()).toList());
      return reports.values().stream().allMatch(SuiteReport::ok)
          ? CommandLine.ExitCode.OK
          : CommandLine.ExitCode.SOFTWARE;
    }
  }

  private VerifyReport checkOps(Device target, Machine machine, List<Op> ops, Part checked) {
    long start = System.nanoTime();
    var date = Instant.now();
    var verification = verification(target, ops, checked);
    var checks = new ArrayList<Check>();
    try (var progress = new Progress(spec.commandLine().getErr())) {
      verification.run(check -> {
        checks.add(check);
        progress.at(checks.size(), verification.size(), check.op() + " " + check.kernel());
      });
    }
    return VerifyReport.of(
        machine,
        date,
        (System.nanoTime() - start) / 1e9,
        new VerifyReport.Scope(Suite.ops.name(), quick, seed),
        // a part need not have cases of every op
        checked.equals(Part.ALL)
            ? ops.stream().map(op -> op.description().name()).toList()
            : List.of(),
        verification,
        checks);
  }

  private IsaReport checkInstructions(Device target, Machine machine, Part checked)
      throws IOException {
    long start = System.nanoTime();
    var date = Instant.now();
    var conformance = conformance(target, checked);
    var findings = new ArrayList<Finding>();
    var answers = new ArrayList<Golden>();
    try (var progress = new Progress(spec.commandLine().getErr())) {
      conformance.run((finding, golden) -> {
        findings.add(finding);
        if (goldens != null) {
          golden.ifPresent(answers::add);
        }
        progress.at(findings.size(), conformance.size(), finding.probe().name());
      });
    }
    if (goldens != null) {
      Golden.write(
          goldens,
          target.capability().target(),
          "%s, driver %s, %s".formatted(machine.name(), machine.driver(), date),
          answers);
    }
    return IsaReport.of(
        machine,
        date,
        (System.nanoTime() - start) / 1e9,
        new VerifyReport.Scope(Suite.isa.name(), quick, seed),
        conformance.size(),
        findings);
  }

  private Conformance conformance(Device target, Part checked) {
    try {
      return new Conformance(target, mnemonics, quick, seed, checked);
    } catch (IllegalArgumentException e) {
      throw usageError("--instruction: " + e.getMessage());
    }
  }

  private List<Op> chosen(Catalogue all) {
    if (names.isEmpty()) {
      return List.copyOf(all.all());
    }
    return new LinkedHashSet<>(names)
        .stream()
            .map(name ->
                all.find(name)
                    .orElseThrow(() -> usageError("--op: " + OpArguments.unknown(all, name))))
            .toList();
  }

  private Part part() {
    try {
      return Part.parse(part);
    } catch (IllegalArgumentException e) {
      throw usageError("--part: " + e.getMessage());
    }
  }

  private Verification verification(Device target, List<Op> ops, Part checked) {
    try {
      return new Verification(
          target,
          ops,
          quick,
          seed,
          number == null ? OptionalInt.empty() : OptionalInt.of(number),
          checked);
    } catch (IllegalArgumentException e) {
      throw usageError("--case %d: %s".formatted(number, e.getMessage()));
    }
  }

  private void print(PrintWriter out, SuiteReport report) {
    out.println();
    (details ? report.table() : report.overview()).text().forEach(out::println);
    out.println();
    report.complaints().forEach(out::println);
    out.println(report.summary());
    out.flush();
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
