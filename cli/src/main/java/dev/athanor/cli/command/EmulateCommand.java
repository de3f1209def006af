package dev.athanor.cli.command;

import dev.athanor.cli.argument.EmulatorArguments;
import dev.athanor.cli.argument.GpuOption;
import dev.athanor.cli.argument.KernelArgument;
import dev.athanor.cli.argument.KernelArgument.WrittenFile;
import dev.athanor.cli.argument.ProgramArguments;
import dev.athanor.cli.report.AssembledKernel;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ProfileReport;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.ops.bench.Units;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor emulate}. */
@Command(
    name = "emulate",
    description = {
      "Runs a kernel of a PTX file on the emulator and writes its outputs as npy files.",
      "Example: athanor emulate saxpy.ptx --kernel saxpy --grid 2 --block 64",
      "  --arg u32:100 --arg f32:2.5 --arg in:x.npy --arg inout:y.npy"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class EmulateCommand implements Callable<Integer> {

  /** In seconds. */
  private static final BigDecimal LONGEST_TIMEOUT = BigDecimal.valueOf(1_000_000);

  @Spec private CommandSpec spec;

  @Mixin private ProgramArguments program;

  @Mixin private EmulatorArguments emulator;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "stops the kernel after this time and fails; default: no timeout")
  private @Nullable String timeout;

  @Option(
      names = "--profile",
      description = "profiles the kernel and prints lower bounds of its time on a GPU")
  private boolean profile;

  @Mixin private GpuOption gpu;

  @Option(names = "--json", description = "prints the result as JSON")
  private boolean json;

  private record Result(
      String kernel,
      String grid,
      String block,
      String cluster,
      String target,
      double milliseconds,
      List<WrittenFile> outputs,
      List<String> faults,
      List<Report> findings,
      String printed,
      ProfileReport.@Nullable Launch profile) {

    /** Returns a copy with the kernel's output. */
    Result withPrinted(String text) {
      return new Result(
          kernel,
          grid,
          block,
          cluster,
          target,
          milliseconds,
          outputs,
          faults,
          findings,
          text,
          profile);
    }
  }

  @Override
  public Integer call() {
    var module = program.module();
    var code = program.kernel(module);
    var values = program.values();
    var runsOn = program.target(module);
    var profiledFor = gpu.gpu();
    var profiler = new Profiler();
    var printed = new StringBuilder();
    var options =
        emulator
            .options()
            .withTarget(runsOn)
            .withTimeout(limit())
            .withOutput(printed::append)
            .withObservers(profile ? List.of(profiler) : List.of());
    Result result;
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var buffers = new ArrayList<Buffer>();
      var given = new ArrayList<Argument>();
      values.forEach(value -> given.add(value.on(device, stream, buffers)));
      var launch = program.launch(device.load(module, code.name()), given);
      long before = System.nanoTime();
      var faults = new ArrayList<String>();
      var findings = new ArrayList<Report>();
      var outputs = new ArrayList<WrittenFile>();
      try {
        stream.launch(launch);
        outputs.addAll(KernelArgument.write(values, buffers, stream));
      } catch (DeviceException.KernelFault fault) {
        fault.findings().forEach(found -> faults.add(line(found)));
        findings.addAll(fault.findings());
      }
      result =
          new Result(
              code.name(),
              launch.grid().toString(),
              launch.block().toString(),
              launch.cluster().toString(),
              runsOn.toString(),
              (System.nanoTime() - before) / 1e6,
              outputs,
              faults,
              findings,
              "",
              profile && faults.isEmpty()
                  ? ProfileReport.Launch.of(
                      profiler.profiles().getFirst(),
                      profiledFor,
                      AssembledKernel.of(module, code.name(), profiledFor))
                  : null);
    } catch (DeviceException.LoadFailed | IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()), e);
    }
    // closing the device prints memory that its kernels have not freed
    print(result.withPrinted(printed.toString()), profiledFor);
    return result.faults().isEmpty() ? 0 : 1;
  }

  private void print(Result result, Gpu profiledFor) {
    if (json) {
      spec.commandLine().getOut().println(ResultFile.json(result));
      return;
    }
    var out = spec.commandLine().getOut();
    var printed = result.printed();
    out.print(printed.isEmpty() || printed.endsWith("\n") ? printed : printed + "\n");
    result.faults().forEach(out::println);
    if (result.faults().isEmpty()) {
      out.printf(
          "%s ran as %s blocks of %s threads in %s%n",
          result.kernel(), result.grid(), result.block(), Units.time(1e3 * result.milliseconds()));
      for (var output : result.outputs()) {
        out.println("wrote " + output.type() + " to " + output.file());
      }
      if (result.profile() != null) {
        result.profile().text(profiledFor.name()).forEach(out::println);
      }
    }
  }

  /** Returns one line, {@code report: KIND: SENTENCE}, also for multi-line assertion messages. */
  private static String line(Report found) {
    return "report: %s: %s".formatted(found.kind(), found).replaceAll("\\R", " ");
  }

  private @Nullable Duration limit() {
    if (timeout == null) {
      return null;
    }
    try {
      var seconds = new BigDecimal(timeout);
      if (seconds.signum() > 0 && seconds.compareTo(LONGEST_TIMEOUT) <= 0) {
        return Duration.ofNanos(Math.max(1, seconds.movePointRight(9).longValue()));
      }
      throw usageError(timeoutSentence(timeout), null);
    } catch (NumberFormatException e) {
      throw usageError(timeoutSentence(timeout), e);
    }
  }

  private static String timeoutSentence(String given) {
    return "--timeout %s: expected a number of seconds above 0 and at most %s"
        .formatted(given, LONGEST_TIMEOUT);
  }

  private ParameterException usageError(String sentence, @Nullable Throwable cause) {
    return new ParameterException(spec.commandLine(), sentence, cause);
  }
}
