package dev.athanor.cli.command;

import dev.athanor.cli.argument.GpuOption;
import dev.athanor.cli.argument.KernelArgument;
import dev.athanor.cli.argument.KernelArgument.Tensor;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.cli.report.AssembledKernel;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.ProfileReport;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.Units;
import dev.athanor.engine.analysis.Gpu;
import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.emulator.options.Schedule;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.text.Parser;
import dev.athanor.engine.ptx.text.PtxSyntaxException;
import dev.athanor.ops.HostTensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor emulate}. */
@Command(
    name = "emulate",
    description = {
      "Runs a kernel of any PTX file on the emulator, and writes its outputs as npy files.",
      "Example: athanor emulate saxpy.ptx --kernel saxpy --grid 2 --block 64",
      "  --arg u32:100 --arg f32:2.5 --arg in:x.npy --arg inout:y.npy"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class EmulateCommand implements Callable<Integer> {

  /** In seconds; whatever takes longer needs no timeout. */
  private static final BigDecimal LONGEST_TIMEOUT = BigDecimal.valueOf(1_000_000);

  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "FILE.ptx", description = "the PTX")
  private Path file;

  @Option(names = "--kernel", paramLabel = "NAME", description = "the kernel; none = the only one")
  private @Nullable String kernel;

  @Option(
      names = "--grid",
      paramLabel = "X[,Y[,Z]]",
      defaultValue = "1",
      description = "blocks; ${DEFAULT-VALUE} where not given")
  private String grid;

  @Option(names = "--block", paramLabel = "X[,Y[,Z]]", required = true, description = "threads")
  private String block;

  @Option(
      names = "--cluster",
      paramLabel = "X[,Y[,Z]]",
      description = "blocks that are resident together; as the kernel says where not given")
  private @Nullable String cluster;

  @Option(
      names = "--cooperative",
      description =
          "keeps all blocks resident, so that they may wait for one another (grid.sync())")
  private boolean cooperative;

  @Option(
      names = "--shared",
      paramLabel = "BYTES",
      defaultValue = "0",
      description = "dynamic shared memory; ${DEFAULT-VALUE} where not given")
  private int shared;

  @Option(
      names = "--target",
      paramLabel = "TARGET",
      description = "whose tensor cores are followed, sm_90a; that of the file where not given")
  private @Nullable String target;

  @Option(
      names = "--arg",
      paramLabel = "ARGUMENT",
      description = {
        "a parameter's value, in their order: TYPE:VALUE, in:FILE.npy, out:FILE.npy:DTYPE:SHAPE,",
        "inout:FILE.npy, zeros:BYTES (a buffer), bytes:FILE (an array by value), or a tensor map"
            + " of",
        "tiles, tensormap:BOX:swizzle=128:in:FILE.npy (or out:, inout:)"
      })
  private List<String> arguments = new ArrayList<>();

  @Option(
      names = "--schedule",
      paramLabel = "SCHEDULE",
      defaultValue = "converging",
      description = "the order of threads: converging, ahead-first, one-by-one, random or apart")
  private String schedule;

  @Option(
      names = "--timing",
      paramLabel = "TIMING",
      defaultValue = "lazy",
      description = "when asynchronous work happens: eager, lazy, random or reordered")
  private String timing;

  @Option(
      names = "--seed",
      paramLabel = "SEED",
      defaultValue = "0",
      description = "of random schedules; with one seed runs are alike")
  private long seed;

  @Option(
      names = "--timeout",
      paramLabel = "SECONDS",
      description = "after which the kernel is stopped, a failure; none where not given")
  private @Nullable String timeout;

  @Option(
      names = "--sanitize",
      description = {
        "checks for races, uninitialized bytes, copies and products that are not awaited, and"
            + " misused",
        "barriers; prints a line `report: KIND: ...` for each finding and exits with status 1"
      })
  private boolean sanitize;

  @Option(
      names = "--ignore",
      paramLabel = "KIND",
      split = ",",
      description = {
        "kinds of findings that --sanitize does not report, PROXY_FENCE,TENSOR_MAP_FENCE; a fault",
        "that stops the kernel is reported all the same"
      })
  private List<String> ignored = new ArrayList<>();

  @Option(
      names = "--profile",
      description = "counts what the kernel does, and bounds the time that a GPU needs for it")
  private boolean profile;

  @Mixin private GpuOption gpu;

  @Option(names = "--json", description = "the result as JSON")
  private boolean json;

  private record Result(
      String kernel,
      String grid,
      String block,
      String cluster,
      String target,
      double milliseconds,
      List<Output> outputs,
      List<String> faults,
      List<Report> findings,
      String printed,
      ProfileReport.@Nullable Launch profile) {

    /** The same, with what the kernel printed. */
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

  private record Output(String file, String type) {}

  @Override
  public Integer call() {
    var module = module();
    var code = kernel(module);
    var values = arguments();
    var runsOn = target == null ? module.target() : target();
    var profiledFor = gpu.gpu();
    var profiler = new Profiler();
    var printed = new StringBuilder();
    var options =
        EmulatorOptions.DEFAULT
            .withTarget(runsOn)
            .withSchedule(choice("--schedule", schedule, Schedule.values()))
            .withAsyncTiming(choice("--timing", timing, AsyncTiming.values()))
            .withSeed(seed)
            .withTimeout(limit())
            .withSanitize(sanitize ? Sanitize.FULL : Sanitize.OFF)
            .withOutput(printed::append)
            .withIgnored(ignored())
            .withObservers(profile ? List.of(profiler) : List.of());
    Result result;
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream()) {
      var buffers = new ArrayList<Buffer>();
      var given = new ArrayList<Argument>();
      values.forEach(value -> given.add(value.on(device, stream, buffers)));
      var loaded = device.load(module, code.name());
      var launch = new Launch(loaded, dim(grid, "--grid"), dim(block, "--block"), shared, given);
      if (cluster != null) {
        launch =
            new Launch(
                loaded, launch.grid(), launch.block(), dim(cluster, "--cluster"), shared, given);
      }
      if (cooperative) {
        launch = launch.asCooperative();
      }
      long before = System.nanoTime();
      var faults = new ArrayList<String>();
      var findings = new ArrayList<Report>();
      var outputs = new ArrayList<Output>();
      try {
        stream.launch(launch);
        outputs.addAll(write(values, buffers, stream));
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
                      AssembledKernel.of(module, code, profiledFor))
                  : null);
    } catch (DeviceException.LoadFailed | IllegalArgumentException e) {
      throw refused(String.valueOf(e.getMessage()), e);
    }
    // a device that closes notes what its kernels have not freed
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

  /** One line, {@code report: KIND: SENTENCE}, even where a kernel's assertion has several. */
  private static String line(Report found) {
    return "report: %s: %s".formatted(found.kind(), found).replaceAll("\\R", " ");
  }

  private Module module() {
    try {
      return Parser.parse(Files.readString(file), file.toString());
    } catch (IOException e) {
      throw refused("there is no readable file " + file, e);
    } catch (PtxSyntaxException e) {
      throw refused(String.valueOf(e.getMessage()), e);
    }
  }

  private Kernel kernel(Module module) {
    var names = module.kernels().stream().map(Kernel::name).collect(Collectors.joining(", "));
    if (kernel == null) {
      if (module.kernels().size() != 1) {
        throw refused("--kernel is needed; the file has " + names, null);
      }
      return module.kernels().getFirst();
    }
    return module
        .kernel(kernel)
        .orElseThrow(() -> refused("--kernel %s: the file has %s".formatted(kernel, names), null));
  }

  private List<KernelArgument> arguments() {
    try {
      return arguments.stream().map(KernelArgument::parse).toList();
    } catch (IllegalArgumentException e) {
      throw refused(String.valueOf(e.getMessage()), e);
    }
  }

  private Target target() {
    try {
      return Target.of(String.valueOf(target));
    } catch (IllegalArgumentException e) {
      throw refused("--target: " + e.getMessage(), e);
    }
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
      throw refused(timeoutSentence(timeout), null);
    } catch (NumberFormatException e) {
      throw refused(timeoutSentence(timeout), e);
    }
  }

  private static String timeoutSentence(String given) {
    return "--timeout %s: it takes a number of seconds above 0 and at most %s"
        .formatted(given, LONGEST_TIMEOUT);
  }

  private Set<Report.Kind> ignored() {
    if (!ignored.isEmpty() && !sanitize) {
      throw refused("--ignore %s: it needs --sanitize".formatted(String.join(",", ignored)), null);
    }
    return ignored.stream()
        .map(name -> choice("--ignore", name, Report.Kind.values(), Report.Kind::name))
        .collect(Collectors.toSet());
  }

  private <E extends Enum<E>> E choice(String option, String text, E[] choices) {
    return choice(option, text, choices, EmulateCommand::name);
  }

  private <E> E choice(String option, String text, E[] choices, Function<E, String> names) {
    return Stream.of(choices)
        .filter(choice -> names.apply(choice).equals(text))
        .findFirst()
        .orElseThrow(() ->
            refused(
                "%s %s: it takes %s"
                    .formatted(
                        option,
                        text,
                        Stream.of(choices).map(names).collect(Collectors.joining(", "))),
                null));
  }

  private static String name(Enum<?> choice) {
    return choice.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  private Dim3 dim(String text, String option) {
    if (!text.matches("[1-9]\\d{0,8}(,[1-9]\\d{0,8}){0,2}")) {
      throw refused("%s %s: it takes one to three numbers, 16,16".formatted(option, text), null);
    }
    var parts = text.split(",", -1);
    return new Dim3(
        Integer.parseInt(parts[0]),
        parts.length > 1 ? Integer.parseInt(parts[1]) : 1,
        parts.length > 2 ? Integer.parseInt(parts[2]) : 1);
  }

  private static List<Output> write(
      List<KernelArgument> values, List<Buffer> buffers, dev.athanor.engine.device.Stream stream) {
    var outputs = new ArrayList<Output>();
    int next = 0;
    for (var value : values) {
      if (value instanceof Tensor tensor) {
        var buffer = buffers.get(next++);
        if (tensor.target().isPresent()) {
          var type = tensor.initial().type();
          var data = MemorySegment.ofArray(new byte[Math.toIntExact(type.bytes())]);
          stream.download(buffer, 0, data);
          stream.synchronize();
          try {
            TensorFile.write(tensor.target().get(), new HostTensor(type, data));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
          outputs.add(new Output(tensor.target().get().toString(), type.toString()));
        }
      }
    }
    return outputs;
  }

  private ParameterException refused(String sentence, @Nullable Throwable cause) {
    return new ParameterException(spec.commandLine(), sentence, cause);
  }
}
