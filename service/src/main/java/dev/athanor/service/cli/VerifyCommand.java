package dev.athanor.service.cli;

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
      "Exit status 0: all are right; 1: something is wrong."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class VerifyCommand implements Callable<Integer> {

  private final Catalogue catalogue;

  @Spec private CommandSpec spec;

  @Mixin private DeviceOption device;

  @Option(
      names = "--suite",
      defaultValue = "ops",
      description = "what is checked: ops; default: ${DEFAULT-VALUE}")
  private String suite;

  @Option(names = "--quick", description = "a handful of cases of each op instead of all")
  private boolean quick;

  @Option(names = "--op", arity = "1..*", paramLabel = "NAME", description = "only these ops")
  private List<String> names = new ArrayList<>();

  @Option(
      names = "--case",
      paramLabel = "N",
      description = "only this case of the op that --op names")
  private @Nullable Integer number;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "what inputs are drawn from; default: ${DEFAULT-VALUE}")
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
    if (!suite.equals("ops")) {
      throw misuse("--suite %s: suites are ops".formatted(suite));
    }
    var ops = chosen();
    if (number != null && names.size() != 1) {
      throw misuse("--case %d: it needs one --op, whose case it is".formatted(number));
    }
    ResultFile.check(spec.commandLine(), "--json", json);
    ResultFile.check(spec.commandLine(), "--markdown", markdown);
    var opened = device.open();
    try (var closing = opened.device()) {
      var machine = Machine.of(opened);
      var out = spec.commandLine().getOut();
      out.println(machine);
      out.flush();
      long start = System.nanoTime();
      var date = Instant.now();
      var verification = verification(closing, ops);
      var checks = new ArrayList<Check>();
      try (var progress = new Progress(spec.commandLine().getErr())) {
        verification.run(check -> {
          checks.add(check);
          progress.at(checks.size(), verification.size(), check.op() + " " + check.kernel());
        });
      }
      var report =
          VerifyReport.of(
              machine,
              date,
              (System.nanoTime() - start) / 1e9,
              new VerifyReport.Scope(suite, quick, seed),
              ops.stream().map(op -> op.description().name()).toList(),
              verification,
              checks);
      print(out, report);
      if (json != null) {
        ResultFile.write(json, List.of(ResultFile.json(report)));
      }
      ResultFile.write(markdown, report.markdown());
      return report.ok() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }
  }

  private List<Op> chosen() {
    if (names.isEmpty()) {
      return List.copyOf(catalogue.all());
    }
    return new LinkedHashSet<>(names)
        .stream()
            .map(name ->
                catalogue
                    .find(name)
                    .orElseThrow(() -> misuse("--op: " + OpsCommand.unknown(catalogue, name))))
            .toList();
  }

  private Verification verification(Device target, List<Op> ops) {
    try {
      return new Verification(
          target, ops, quick, seed, number == null ? OptionalInt.empty() : OptionalInt.of(number));
    } catch (IllegalArgumentException e) {
      throw misuse("--case %d: %s".formatted(number, e.getMessage()));
    }
  }

  private static void print(PrintWriter out, VerifyReport report) {
    out.println();
    report.table().text().forEach(out::println);
    out.println();
    for (var failure : report.failures()) {
      failure.lines().forEach(out::println);
    }
    out.println(report.summary());
    out.flush();
  }

  private ParameterException misuse(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
