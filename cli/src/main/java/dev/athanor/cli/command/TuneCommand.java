package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.Machine;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.Samples;
import dev.athanor.ops.bench.Units;
import dev.athanor.ops.tune.Tuner;
import dev.athanor.ops.tune.TuningCache;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor tune OP}. */
@Command(
    name = "tune",
    description = {
      "Checks and times every kernel variant of an op on the device, and caches the best for similar problems: the planner's choice, or the fastest if it is significantly faster.",
      "Example: athanor tune matmul --shape a=256,256 --shape b=256,256 --dtype a=f16 --dtype b=f16",
      "Exit status 0: all variants are correct; 1: one is wrong, or none could be timed."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class TuneCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Mixin private OpArguments op;

  @Mixin private PluginsOption plugins;

  @Mixin private DeviceOption device;

  @Option(
      names = "--cache",
      paramLabel = "FILE",
      description = "the tuning cache; default: athanor/tuning.json in the user's cache folder")
  private @Nullable Path cache;

  @Option(
      names = "--repeat",
      paramLabel = "N",
      description = "minimum number of samples; default: 20, on the emulator 3")
  private @Nullable Integer repeat;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "seed of random inputs; default: ${DEFAULT-VALUE}")
  private long seed;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  private record Report(
      Machine device,
      String op,
      String problem,
      List<Row> variants,
      Optional<TuningCache.Winner> winner) {}

  private record Row(String kernel, Optional<Samples> micros, Optional<String> failure) {}

  @Override
  public Integer call() {
    var catalogue = plugins.catalogue();
    op.problem(catalogue); // before a device is opened
    var file = cache == null ? TuningCache.standardFile() : cache;
    var opened = device.open();
    try (var target = opened.device()) {
      boolean emulated = target.capability().isEmulated();
      var effort = effort(emulated);
      var problem = op.problem(catalogue);
      op.plans(problem, target.capability());
      var tuner = new Tuner(target, TuningCache.open(file), effort, InstantSource.system());
      var result = tuner.tune(problem, seed);
      var report =
          new Report(
              Machine.of(opened),
              problem.op().description().name(),
              problem.text(),
              result.rows().stream()
                  .map(row -> new Row(row.kernel(), row.ours(), row.failure()))
                  .toList(),
              result.winner());
      var out = spec.commandLine().getOut();
      if (json) {
        out.println(ResultFile.json(report));
      } else {
        print(report, file);
      }
      out.flush();
      boolean right = report.variants.stream().allMatch(row -> row.failure.isEmpty());
      return right ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
    } catch (DeviceException | UncheckedIOException e) {
      spec.commandLine().getErr().println("athanor tune: " + e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
  }

  private Effort effort(boolean emulated) {
    try {
      return new Effort(
          emulated ? 1 : 10, repeat != null ? repeat : emulated ? 3 : 20, emulated ? 0 : 20);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "--repeat: " + e.getMessage());
    }
  }

  private void print(Report report, Path file) {
    var out = spec.commandLine().getOut();
    report.device.lines().forEach(out::println);
    out.printf("%s %s%n%n", report.op, report.problem);
    var winner = report.winner.map(TuningCache.Winner::kernel).orElse("");
    var table = new Table("", "kernel", "median", "min", "max", "verdict");
    for (var row : report.variants) {
      table.add(
          row.kernel.equals(winner) ? "*" : "",
          row.kernel,
          row.micros.map(micros -> Units.time(micros.median())).orElse(""),
          row.micros.map(micros -> Units.time(micros.min())).orElse(""),
          row.micros.map(micros -> Units.time(micros.max())).orElse(""),
          row.failure.orElse("ok"));
    }
    table.text().forEach(out::println);
    report.winner.ifPresent(best -> {
      out.println();
      if (report.variants.stream()
          .flatMap(row -> row.micros.stream())
          .anyMatch(micros -> micros.median() < best.micros())) {
        out.printf("%s is the planner's choice; none is significantly faster%n", best.kernel());
      }
      out.printf("kept in %s for %s%n", file, best.key().bucket());
    });
  }
}
