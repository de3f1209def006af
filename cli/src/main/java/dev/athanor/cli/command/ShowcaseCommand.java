package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.Machine;
import dev.athanor.cli.report.Progress;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Table;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.bench.OpBench;
import dev.athanor.ops.bench.Samples;
import dev.athanor.ops.bench.Units;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code athanor showcase}. */
@Command(
    name = "showcase",
    description = {
      "Runs, checks and times the operations of transformers, on one screen.",
      "Exit status 0: all results are correct; 1: otherwise."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ShowcaseCommand implements Callable<Integer> {

  /**
   * A line of the screen.
   *
   * @param small the problem on the emulator
   * @param large the problem on a GPU
   */
  private record Exhibit(String title, String op, String small, String large) {

    static Exhibit of(String title, String op, String small, String large) {
      return new Exhibit(title, op, small, large);
    }
  }

  private static final List<Exhibit> EXHIBITS =
      List.of(
          Exhibit.of(
              "SiLU gate",
              "swiglu",
              "gate=f16[64,512] up=f16[64,512]",
              "gate=f16[4096,11008] up=f16[4096,11008]"),
          Exhibit.of("GELU, exact", "gelu", "x=f32[32768]", "x=f32[16777216]"),
          Exhibit.of("GELU, tanh", "gelu", "x=f32[32768] form=tanh", "x=f32[16777216] form=tanh"),
          Exhibit.of(
              "GELU, sigmoid", "gelu", "x=f32[32768] form=sigmoid", "x=f32[16777216] form=sigmoid"),
          Exhibit.of(
              "RMS norm",
              "rms-norm",
              "x=f16[64,512] gamma=f16[512]",
              "x=f16[16384,4096] gamma=f16[4096]"),
          Exhibit.of(
              "layer norm",
              "layer-norm",
              "x=f16[64,512] gamma=f16[512] beta=f16[512]",
              "x=f16[16384,4096] gamma=f16[4096] beta=f16[4096]"),
          Exhibit.of("softmax", "softmax", "x=f32[64,512]", "x=f32[8192,4096]"),
          Exhibit.of(
              "int8 to f16",
              "dequantize",
              "x=i8[64,512] scale=f32[] outDtype=f16",
              "x=i8[16384,4096] scale=f32[] outDtype=f16"),
          Exhibit.of(
              "int8 product",
              "matmul-int8",
              "a=i8[64,128] b=i8[128,64] scale=f32[]",
              "a=i8[4096,4096] b=i8[4096,4096] scale=f32[] outDtype=f16"),
          Exhibit.of(
              "f16 product",
              "matmul",
              "a=f16[128,128] b=f16[128,128]",
              "a=f16[4096,4096] b=f16[4096,4096]"),
          Exhibit.of(
              "attention",
              "attention",
              "q=f16[1,2,64,64] k=f16[1,2,64,64] v=f16[1,2,64,64] causal=true",
              "q=f16[4,32,2048,128] k=f16[4,32,2048,128] v=f16[4,32,2048,128] causal=true"));

  @Spec private CommandSpec spec;

  @Mixin private DeviceOption device;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  private record Report(Machine device, List<Row> exhibits) {}

  private record Row(
      String title,
      String op,
      String problem,
      String kernel,
      double error,
      double limit,
      Optional<Samples> micros,
      Optional<Double> gigabytesPerSecond,
      Optional<Double> gigaflops,
      Optional<String> failure) {

    static Row of(Exhibit exhibit, OpBench.Row row) {
      var median = row.ours().map(Samples::median);
      return new Row(
          exhibit.title,
          exhibit.op,
          row.problem().text(),
          row.kernel(),
          row.error(),
          row.limit(),
          row.ours(),
          median.map(micros -> row.cost().bytes() / micros / 1e3),
          median.map(micros -> row.cost().flops() / micros / 1e3),
          row.failure());
    }
  }

  @Override
  public Integer call() {
    var catalogue = Catalogue.load();
    var opened = device.open();
    try (var target = opened.device()) {
      boolean emulated = target.capability().isEmulated();
      var effort = emulated ? new Effort(1, 3, 0) : new Effort(10, 20, 20);
      var machine = Machine.of(opened);
      var out = spec.commandLine().getOut();
      if (!json) {
        machine.lines().forEach(out::println);
        out.println();
        out.flush();
      }
      var rows = new ArrayList<Row>();
      try (var bench = new OpBench(target, effort, List.of());
          var progress = new Progress(spec.commandLine().getErr())) {
        for (var exhibit : EXHIBITS) {
          progress.at(rows.size() + 1, EXHIBITS.size(), exhibit.title);
          var op = catalogue.find(exhibit.op).orElseThrow();
          var problem = Problem.parse(op, emulated ? exhibit.small : exhibit.large);
          bench.run(problem, false, 1, row -> rows.add(Row.of(exhibit, row)));
        }
      }
      if (json) {
        out.println(ResultFile.json(new Report(machine, rows)));
      } else {
        table(rows).text().forEach(out::println);
        out.println();
        out.println("time: median of the launches; error: relative to the tolerance");
        rows.forEach(
            row -> row.failure.ifPresent(why -> out.println("FAILED " + row.title + ": " + why)));
      }
      out.flush();
      return rows.stream().allMatch(row -> row.failure.isEmpty())
          ? CommandLine.ExitCode.OK
          : CommandLine.ExitCode.SOFTWARE;
    } catch (DeviceException.Lost e) {
      spec.commandLine().getErr().println("athanor showcase: " + e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
  }

  private static Table table(List<Row> rows) {
    var table = new Table("", "op", "first input", "time", "compute", "bandwidth", "error", "");
    for (var row : rows) {
      table.add(
          row.title,
          row.op,
          row.problem.replaceFirst("\\w+=(\\S+).*", "$1"),
          row.micros.map(micros -> Units.time(micros.median())).orElse(""),
          row.gigaflops.map(rate -> Units.flops(1e9 * rate)).orElse(""),
          row.gigabytesPerSecond.map(rate -> Units.bytes(1e9 * rate)).orElse(""),
          "%.0f%%".formatted(100 * row.error / row.limit),
          row.failure.isEmpty() ? "ok" : "FAILED");
    }
    return table;
  }
}
