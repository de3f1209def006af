package dev.athanor.cli.command;

import dev.athanor.cli.argument.DeviceOption;
import dev.athanor.cli.argument.OpArguments;
import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.argument.TensorFile;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.Machine;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.cli.report.TensorText;
import dev.athanor.cli.report.Units;
import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.Catalogue;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
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
      "Runs an op on tensor files.",
      "Example: athanor run matmul --in a=x.npy --in b=y.npy --attr transposeB=true --out c=z.npy"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class RunCommand implements Callable<Integer> {

  /** A file with its dtype and shape. */
  private static final Pattern RAW = Pattern.compile("(.+):(\\w+)\\[(.*)]");

  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "OP", description = "the op")
  private String name;

  @Option(
      names = "--in",
      paramLabel = "INPUT=FILE",
      description =
          "an input: an npy file, or a file of raw bytes with its type, such as w=w.bin:q4_k[64,256]")
  private Map<String, String> inputs = new LinkedHashMap<>();

  @Option(
      names = "--out",
      paramLabel = "OUTPUT=FILE",
      description =
          "the file of an output: npy if its name ends in .npy, else raw bytes; outputs without a file"
              + " are printed")
  private Map<String, Path> outputs = new LinkedHashMap<>();

  @Option(
      names = "--attr",
      paramLabel = "NAME=VALUE",
      description = "an attribute, such as transposeB=true")
  private Map<String, String> attributes = new LinkedHashMap<>();

  @Mixin private DeviceOption device;

  @Mixin private PluginsOption plugins;

  @Option(names = "--json", description = "prints the result as JSON")
  private boolean json;

  private record Report(
      Machine device, String op, String kernel, double kernelMicros, List<Output> outputs) {}

  private record Output(String name, String type, @Nullable String file) {}

  @Override
  public Integer call() throws IOException {
    var catalogue = plugins.catalogue();
    var op =
        catalogue.find(name).orElseThrow(() -> usageError(OpArguments.unknown(catalogue, name)));
    for (var output : outputs.entrySet()) {
      if (op.description().output(output.getKey()).isEmpty()) {
        throw usageError(
            "--out %s: %s has no output \"%s\"".formatted(output.getKey(), name, output.getKey()));
      }
      try {
        TensorFile.writable(output.getValue());
      } catch (IllegalArgumentException e) {
        throw usageError("--out %s: %s".formatted(output.getKey(), e.getMessage()));
      }
    }
    var tensors = new LinkedHashMap<String, HostTensor>();
    for (var input : inputs.entrySet()) {
      tensors.put(input.getKey(), read(input.getKey(), input.getValue()));
    }
    try {
      var given = op.description().byName(tensors);
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
    for (var output : outputs.entrySet()) {
      var type = plan.outputs().get(output.getKey());
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
    var result = HostRun.of(target, new KernelCache(target), plan, given);
    var written = new ArrayList<Output>();
    for (var output : result.outputs().entrySet()) {
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
      out.println(
          ResultFile.json(new Report(machine, name, plan.kernel(), result.micros(), written)));
    } else {
      machine.lines().forEach(out::println);
      out.printf("%s: %s, %s%n", name, plan.kernel(), Units.time(result.micros()));
      for (var output : written) {
        out.printf(
            "%s %s%s%n",
            output.name, output.type, output.file == null ? "" : ", written to " + output.file);
        if (output.file == null) {
          TensorText.lines(Objects.requireNonNull(result.outputs().get(output.name)))
              .forEach(out::println);
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
