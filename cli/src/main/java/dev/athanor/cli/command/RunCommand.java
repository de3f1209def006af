package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.cli.client.ClientTensors;
import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.Machine;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.TensorText;
import dev.athanor.client.Athanor;
import dev.athanor.client.Execution;
import dev.athanor.client.OpCall;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.bench.Units;
import dev.athanor.ops.run.HostRun;
import dev.athanor.ops.tune.Planner;
import dev.athanor.ops.tune.TuningCache;
import dev.athanor.service.failure.Failure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor run OP}. */
@Command(
    name = "run",
    description = {
      "Runs an op on tensor files, on a device of this machine or, with --url, on a service.",
      "Example: athanor run matmul --in a=x.npy --in b=y.npy --attr transposeB=true --out c=z.npy"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class RunCommand implements Callable<Integer> {

  /** A file with its dtype and shape. */
  private static final Pattern RAW = Pattern.compile("(.+):(\\w+)\\[(.*)]");

  private final @Nullable Catalogue library;

  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "OP", description = "the op")
  private String name;

  @Option(
      names = "--in",
      paramLabel = "INPUT=FILE",
      description =
          "an input: an npy file, a safetensors file of one tensor, or a file of raw bytes with its"
              + " type, such as w=w.bin:q4_k[64,256]")
  private Map<String, String> inputs = new LinkedHashMap<>();

  @Option(
      names = "--out",
      paramLabel = "OUTPUT=FILE",
      description =
          "the file of an output: npy or safetensors if its name ends in .npy or .safetensors, else raw"
              + " bytes; outputs without a file are printed")
  private Map<String, Path> outputs = new LinkedHashMap<>();

  @Option(
      names = "--attr",
      paramLabel = "NAME=VALUE",
      description = "an attribute, such as transposeB=true; lists are written axes=0,2")
  private Map<String, String> attributes = new LinkedHashMap<>();

  @Mixin private DeviceOption device;

  @Mixin private PluginsOption plugins;

  @Mixin private ServiceOption service;

  @Option(names = "--json", description = "prints the result as JSON")
  private boolean json;

  /**
   * The result in JSON.
   *
   * @param device a {@link Machine} or a {@link RemoteDevice}
   */
  private record Report(
      Object device, String op, String kernel, double kernelMicros, List<Output> outputs) {}

  private record RemoteDevice(String id, String url) {}

  private record Output(String name, String type, @Nullable String file) {}

  /** Runs ops of the library. */
  public RunCommand() {
    this(null);
  }

  /** Runs these ops instead of the library's, if any. */
  RunCommand(@Nullable Catalogue library) {
    this.library = library;
  }

  @Override
  public Integer call() throws IOException {
    return service.isGiven() ? runOnService() : runLocally();
  }

  private int runLocally() throws IOException {
    var catalogue = plugins.catalogue(library);
    var op =
        catalogue.find(name).orElseThrow(() -> usageError(OpArguments.unknown(catalogue, name)));
    checkFiles(op.description().outputs().stream().map(OpDescription.Output::name).toList());
    try {
      var given = op.description().byName(read());
      var types = HostTensor.types(given);
      Catalogue.checkInputs(op.description(), types);
      var problem = new Problem(op, types, Attributes.of(op.description(), attributes));
      var opened = device.open();
      try (var target = opened.device()) {
        return run(Machine.of(opened), target, problem, given);
      }
    } catch (OpException e) {
      throw usageError(String.valueOf(e.getMessage()));
    } catch (DeviceException e) {
      spec.commandLine().getErr().println("athanor run: " + e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
  }

  private int runOnService() throws IOException {
    for (var local : List.of("--device", "--plugins")) {
      if (spec.commandLine().getParseResult().hasMatchedOption(local)) {
        throw usageError(
            "%s cannot be combined with --url; the service has its own devices and ops"
                .formatted(local));
      }
    }
    var execution = new AtomicReference<Execution>();
    var nanos = new AtomicLong();
    var results = new LinkedHashMap<String, HostTensor>();
    try (var athanor = service.connect()) {
      checkFiles(
          serviceOp(athanor).outputs().stream()
              .flatMap(output -> output.names().stream())
              .toList());
      var call =
          OpCall.of(name)
              .execution(execution::set)
              .timing(timing -> nanos.set(timing.kernel().toNanos()));
      read().forEach((input, tensor) -> call.input(input, ClientTensors.of(tensor)));
      attributes.forEach(call::attribute);
      athanor
          .inline()
          .run(call)
          .forEach((output, tensor) -> results.put(output, ClientTensors.of(tensor)));
    }
    checkTypes(HostTensor.types(results));
    var ran = execution.get();
    var url = service.url().toString();
    return report(
        new RemoteDevice(ran.device(), url),
        List.of("%s of %s".formatted(ran.device(), url)),
        ran.kernel(),
        nanos.get() / 1e3,
        results);
  }

  private dev.athanor.client.OpDescription serviceOp(Athanor athanor) {
    var ops = athanor.ops();
    return ops.stream()
        .filter(op -> op.name().equals(name))
        .findFirst()
        .orElseThrow(() -> {
          var names = ops.stream().map(dev.athanor.client.OpDescription::name).toList();
          return usageError(OpArguments.unknown(names, name));
        });
  }

  private void checkFiles(List<String> names) {
    for (var output : outputs.entrySet()) {
      if (!names.contains(output.getKey())) {
        throw usageError(
            "--out %s: %s has no output \"%s\"".formatted(output.getKey(), name, output.getKey()));
      }
      try {
        TensorFile.writable(output.getValue());
      } catch (IllegalArgumentException e) {
        throw usageError("--out %s: %s".formatted(output.getKey(), e.getMessage()));
      }
    }
  }

  private Map<String, HostTensor> read() throws IOException {
    var tensors = new LinkedHashMap<String, HostTensor>();
    for (var input : inputs.entrySet()) {
      tensors.put(input.getKey(), read(input.getKey(), input.getValue()));
    }
    return tensors;
  }

  private HostTensor read(String input, String text) throws IOException {
    var raw = RAW.matcher(text);
    try {
      boolean typed = raw.matches();
      var file = Path.of(typed ? raw.group(1) : text);
      if (!Files.isReadable(file)) {
        throw new IllegalArgumentException("cannot read file " + file);
      }
      return typed
          ? TensorFile.read(file, TensorType.parse(raw.group(2) + "[" + raw.group(3) + "]"))
          : TensorFile.read(file);
    } catch (Failure | IllegalArgumentException e) {
      throw usageError("--in %s=%s: %s".formatted(input, text, e.getMessage()));
    }
  }

  private int run(Machine machine, Device target, Problem problem, Map<String, HostTensor> given)
      throws IOException {
    var tuned = TuningCache.open(TuningCache.standardFile());
    var plan = new Planner(target.capability(), tuned).plan(problem);
    checkTypes(plan.outputs());
    var result = HostRun.of(target, new KernelCache(target), plan, given);
    return report(machine, machine.lines(), plan.kernel(), result.micros(), result.outputs());
  }

  private void checkTypes(Map<String, TensorType> types) {
    for (var output : outputs.entrySet()) {
      var type = types.get(output.getKey());
      if (type == null) {
        throw usageError(
            "--out %s: %s does not compute this output with these attributes"
                .formatted(output.getKey(), name));
      }
      try {
        TensorFile.check(output.getValue(), type);
      } catch (IllegalArgumentException e) {
        throw usageError("--out %s: %s".formatted(output.getKey(), e.getMessage()));
      }
    }
  }

  private int report(
      Object device,
      List<String> lines,
      String kernel,
      double micros,
      Map<String, HostTensor> results)
      throws IOException {
    var written = new ArrayList<Output>();
    for (var output : results.entrySet()) {
      var file = outputs.get(output.getKey());
      if (file != null) {
        TensorFile.write(file, output.getValue());
      }
      written.add(
          new Output(
              output.getKey(),
              output.getValue().type().text(),
              file == null ? null : file.toString()));
    }
    var out = spec.commandLine().getOut();
    if (json) {
      out.println(ResultFile.json(new Report(device, name, kernel, micros, written)));
    } else {
      lines.forEach(out::println);
      out.printf("%s: %s, %s%n", name, kernel, Units.time(micros));
      for (var output : written) {
        out.printf(
            "%s %s%s%n",
            output.name, output.type, output.file == null ? "" : ", written to " + output.file);
        if (output.file == null) {
          TensorText.lines(Objects.requireNonNull(results.get(output.name))).forEach(out::println);
        }
      }
    }
    out.flush();
    return CommandLine.ExitCode.OK;
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
