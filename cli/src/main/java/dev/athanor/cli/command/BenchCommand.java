package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.EffortOptions;
import dev.athanor.cli.argument.JavaKernelArguments;
import dev.athanor.cli.argument.JavaLaunchArguments;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.BenchReport;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.Machine;
import dev.athanor.cli.report.PredictReport;
import dev.athanor.cli.report.Progress;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Baseline;
import dev.athanor.ops.bench.Ceilings;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.OpBench;
import dev.athanor.ops.bench.OpBench.Row;
import dev.athanor.ops.bench.Suites;
import dev.athanor.ops.bench.Torch;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor bench}. */
@Command(
    name = "bench",
    customSynopsis = {
      "athanor bench [OP...] [OPTIONS]",
      "       athanor bench CLASSES CLASS[::METHOD] [OPTIONS]"
    },
    description = {
      "Measures the performance of ops and checks samples of their results.",
      "Or times a kernel in Java from CLASSES, a class folder or jar; its results are not checked.",
      "Exit status 0: all measured, no wrong result; 1: otherwise.",
      "Example: athanor bench target/classes Saxpy::saxpy --arg in:x.npy --arg in:y.npy --arg 0.5 --arg 4"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class BenchCommand implements Callable<Integer> {

  /** Enough blocks to include some that are not at the edges of the grid. */
  private static final long PREDICTED_BLOCKS = 4;

  /** The options that only ops have. */
  private static final List<String> OP_OPTIONS =
      List.of("--problem", "--all-variants", "--baseline", "--predict", "--seed", "--plugins");

  private final Catalogue catalogue;

  @Spec private CommandSpec spec;

  @Mixin private DeviceOption device;

  @Mixin private PluginsOption plugins;

  @Parameters(
      arity = "0..*",
      paramLabel = "OP",
      description =
          "the ops to measure; default: all ops that have a suite; or a kernel in Java, such as"
              + " target/classes com.acme.Saxpy::saxpy, as in athanor ptx")
  private List<String> names = new ArrayList<>();

  @Mixin private JavaKernelArguments java;

  @Mixin private JavaLaunchArguments javaLaunch;

  @Mixin private EffortOptions duration;

  @Option(
      names = "--problem",
      paramLabel = "PROBLEM",
      description =
          "a problem of the one OP instead of its suite, such as"
              + " \"a=f16[64,32] b=f16[32,16] alpha=2\"; repeatable")
  private List<String> problems = new ArrayList<>();

  @Option(
      names = "--all-variants",
      description = "measures every kernel variant, not only the planner's choice")
  private boolean allVariants;

  @Option(
      names = "--baseline",
      split = ",",
      paramLabel = "LIBRARY",
      description = {
        "cublas, torch or loop, or several, separated by commas: measured alternately with ours.",
        "cublas uses the same buffers; torch runs in a process of python3, or of the interpreter that"
            + " ATHANOR_PYTHON names, with PyTorch installed; loop is a plain product of f32 in Java,"
            + " on one core of the host"
      })
  private List<String> baselines = new ArrayList<>();

  @Option(
      names = "--predict",
      paramLabel = "GPU",
      description =
          "predicts lower bounds of the times on this GPU from the emulator's counts; measures nothing")
  private @Nullable String predict;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "seed of random inputs; default: ${DEFAULT-VALUE}")
  private long seed;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      description = "writes all results to this file, and updates it after each problem")
  private @Nullable Path json;

  @Option(
      names = "--markdown",
      paramLabel = "FILE",
      description = "writes the table to this file, and updates it after each problem")
  private @Nullable Path markdown;

  public BenchCommand() {
    this(Catalogue.load());
  }

  BenchCommand(Catalogue catalogue) {
    this.catalogue = catalogue;
  }

  @Override
  public Integer call() throws IOException {
    duration.effort(true); // before anything is measured
    ResultFile.check(spec.commandLine(), "--json", json);
    ResultFile.check(spec.commandLine(), "--markdown", markdown);
    var known = plugins.catalogue(catalogue);
    if (isJavaKernel(known)) {
      return benchJavaKernel();
    }
    java.refuseOptionsOfKernels(names.isEmpty() ? "none is given" : names.getFirst() + " is an op");
    for (var baseline : baselines) {
      if (!List.of("cublas", "torch", "loop").contains(baseline)) {
        throw usageError(
            "--baseline %s: expected cublas, torch or loop, or several, separated by commas"
                .formatted(baseline));
      }
    }
    var ops = ops(known);
    problems(ops, false); // before a device is opened
    if (predict != null) {
      return predict(ops, predict);
    }
    var opened = device.open();
    try (var target = opened.device()) {
      boolean emulated = target.capability().isEmulated();
      var effort = duration.effort(emulated);
      var machine = Machine.of(opened);
      var others = openBaselines(target);
      var date = Instant.now();
      var out = spec.commandLine().getOut();
      machine.lines().forEach(out::println);
      out.flush();
      var ceilings = emulated ? Optional.<Ceilings>empty() : Optional.of(Ceilings.measure(target));
      Function<Measured, BenchReport> reporter =
          measured ->
              BenchReport.of(
                  machine,
                  date,
                  others,
                  ceilings,
                  effort,
                  seed,
                  measured.lost,
                  measured.unmeasured,
                  measured.rows,
                  measured.spills);
      var report = measure(target, effort, others, problems(ops, !emulated), reporter);
      print(report.table(), report.notes());
      ResultFile.write(json, List.of(ResultFile.json(report)));
      ResultFile.write(markdown, report.markdown());
      return report.ok() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    }
  }

  /** Returns whether the names are those of a class folder or jar and a class, and not of ops. */
  private boolean isJavaKernel(Catalogue known) {
    return names.size() > 1
        && known.find(names.getFirst()).isEmpty()
        && JavaKernelArguments.select(names.getFirst(), names.get(1));
  }

  private int benchJavaKernel() throws IOException {
    var kernel = names.get(1);
    java.refuseOptionsOfOps(kernel, OP_OPTIONS);
    if (names.size() > 2) {
      throw usageError(
          "unexpected argument \"%s\"; give the arguments of %s with --arg"
              .formatted(names.get(2), kernel));
    }
    var launch = java.launch(names.getFirst(), kernel, javaLaunch);
    var opened = device.open();
    try (var target = opened.device()) {
      var out = spec.commandLine().getOut();
      Machine.of(opened).lines().forEach(out::println);
      out.flush();
      var effort = duration.effort(target.capability().isEmulated());
      var report = JavaKernelBench.run(launch, opened, effort);
      print(report.table(), report.notes());
      ResultFile.write(json, List.of(ResultFile.json(report)));
      ResultFile.write(markdown, report.markdown());
      return CommandLine.ExitCode.OK;
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  private void print(Table table, List<String> notes) {
    var out = spec.commandLine().getOut();
    out.println();
    table.text().forEach(out::println);
    out.println();
    notes.forEach(out::println);
    out.flush();
  }

  private int predict(List<Op> ops, String name) throws IOException {
    var gpu =
        Gpu.named(name)
            .orElseThrow(() ->
                usageError(
                    "--predict %s: expected one of %s"
                        .formatted(
                            name,
                            Gpu.ALL.stream().map(Gpu::name).collect(Collectors.joining(", ")))));
    var wanted = problems(ops, true);
    var rows = new ArrayList<PredictReport.Row>();
    try (var progress = new Progress(spec.commandLine().getErr())) {
      for (var problem : wanted) {
        progress.at(
            rows.size() + 1,
            wanted.size(),
            problem.op().description().name() + " " + problem.text());
        rows.add(PredictReport.Row.of(problem, gpu, PREDICTED_BLOCKS));
      }
    }
    var report = new PredictReport(Build.current(), gpu.name(), PREDICTED_BLOCKS, rows);
    var out = spec.commandLine().getOut();
    report.markdown().forEach(out::println);
    out.flush();
    if (json != null) {
      ResultFile.write(json, List.of(ResultFile.json(report)));
    }
    ResultFile.write(markdown, report.markdown());
    return CommandLine.ExitCode.OK;
  }

  private List<Op> ops(Catalogue known) {
    if (names.isEmpty()) {
      return List.copyOf(known.all());
    }
    var ops = new ArrayList<Op>();
    for (var name : names) {
      var op = known.find(name);
      if (op.isEmpty()) {
        java.requireBothArguments(name);
        throw usageError(OpArguments.unknown(known, name));
      }
      ops.add(op.get());
    }
    return ops;
  }

  private List<Problem> problems(List<Op> ops, boolean large) {
    if (problems.isEmpty()) {
      var all = ops.stream().flatMap(op -> Suites.of(op, large).stream()).toList();
      if (all.isEmpty()) {
        throw usageError(
            "%s has no suite; give problems with --problem".formatted(String.join(", ", names)));
      }
      return all;
    }
    if (ops.size() != 1) {
      throw usageError("--problem requires one op, got %d".formatted(ops.size()));
    }
    try {
      return problems.stream().map(text -> Problem.parse(ops.getFirst(), text)).toList();
    } catch (IllegalArgumentException | OpException e) {
      throw usageError("--problem: " + e.getMessage());
    }
  }

  /**
   * What is measured so far.
   *
   * @param lost the reason if the device was lost
   * @param unmeasured the number of problems that were not measured
   */
  private record Measured(
      Optional<String> lost, int unmeasured, List<Row> rows, List<KernelCache.Spill> spills) {}

  /**
   * Measures until done or the device is lost, and updates the result files after each problem, so
   * that a run that is stopped keeps its results.
   */
  private BenchReport measure(
      Device target,
      Effort effort,
      List<Baseline> others,
      List<Problem> wanted,
      Function<Measured, BenchReport> reporter)
      throws IOException {
    var rows = new ArrayList<Row>();
    try (var bench = new OpBench(target, effort, others);
        var progress = new Progress(spec.commandLine().getErr())) {
      int done = 0;
      try {
        for (var problem : wanted) {
          progress.at(
              done + 1, wanted.size(), problem.op().description().name() + " " + problem.text());
          bench.run(problem, allVariants, seed, rows::add);
          done++;
          var report =
              reporter.apply(
                  new Measured(Optional.empty(), wanted.size() - done, rows, bench.spills()));
          ResultFile.update(json, List.of(ResultFile.json(report)));
          ResultFile.update(markdown, report.markdown());
        }
        return reporter.apply(new Measured(Optional.empty(), 0, rows, bench.spills()));
      } catch (DeviceException.Lost e) {
        var reason = Optional.of(String.valueOf(e.getMessage()));
        return reporter.apply(new Measured(reason, wanted.size() - done, rows, bench.spills()));
      }
    }
  }

  private List<Baseline> openBaselines(Device target) {
    var opened = new ArrayList<Baseline>();
    for (var baseline : new LinkedHashSet<>(baselines)) {
      try {
        opened.add(
            switch (baseline) {
              case "torch" -> Torch.beside(target);
              case "loop" -> Baseline.loop();
              default -> Baseline.cuBlas(target);
            });
      } catch (DeviceException.Unavailable e) {
        throw usageError(
            "--baseline cublas: " + e.getMessage()); // torch has not started anything yet
      }
    }
    return opened;
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
