package dev.athanor.cli.command;

import dev.athanor.cli.argument.TensorFile;
import dev.athanor.cli.client.ClientTensors;
import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.TensorTable;
import dev.athanor.client.Athanor;
import dev.athanor.client.Tensor;
import dev.athanor.client.TensorInfo;
import dev.athanor.ops.HostTensor;
import dev.athanor.service.failure.Failure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor put}. */
@Command(
    name = "put",
    description = {
      "Uploads a tensor file to a running service and prints the handle of each tensor, or its name.",
      "The tensors of a safetensors file are stored under their names.",
      "Needs the scopes tensors:read and tensors:write."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class PutCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  private static final int DEFAULT_LEASE = 3600;

  @Parameters(paramLabel = "FILE", description = "an npy or a safetensors file")
  private Path file;

  @Option(
      names = "--name",
      paramLabel = "NAME",
      description =
          "stores the tensor under this name, replacing a tensor of that name; by default, a tensor of"
              + " an npy file has only a handle")
  private @Nullable String name;

  @Option(
      names = "--lease",
      paramLabel = "S",
      description =
          "seconds without use after which the service deletes the tensors, 0 for never; default: 3600,"
              + " or 0 for named tensors")
  private @Nullable Integer lease;

  @Mixin private ServiceOption service;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  @Override
  public Integer call() throws IOException {
    if (lease != null && lease < 0) {
      throw usageError("--lease %d: expected at least 0 seconds".formatted(lease));
    }
    var tensors = read();
    var out = spec.commandLine().getOut();
    var stored = new ArrayList<TensorInfo>();
    try (var athanor = service.connect()) {
      for (var tensor : tensors.entrySet()) {
        var resident = put(athanor, tensor.getKey(), tensor.getValue());
        if (json) {
          stored.add(resident.describe());
        }
        var handle = resident.detach();
        if (!json) {
          out.println(handle);
          out.flush();
        }
      }
    }
    if (json) {
      out.println(TensorTable.json(stored));
      out.flush();
    }
    return CommandLine.ExitCode.OK;
  }

  /** Returns the tensors of the file and the names under which they are stored, if any. */
  private Map<Optional<String>, HostTensor> read() throws IOException {
    if (!Files.isReadable(file)) {
      throw usageError("cannot read file " + file);
    }
    try {
      if (!TensorFile.isSafetensors(file)) {
        return Map.of(Optional.ofNullable(name), TensorFile.read(file));
      }
      var tensors = TensorFile.readSafetensors(file);
      if (name != null && tensors.size() != 1) {
        throw usageError(
            "--name %s: %s has %d tensors, which have their own names"
                .formatted(name, file, tensors.size()));
      }
      var named = new LinkedHashMap<Optional<String>, HostTensor>();
      tensors.forEach((own, tensor) -> named.put(Optional.of(name == null ? own : name), tensor));
      return named;
    } catch (Failure | IllegalArgumentException e) {
      throw usageError("%s: %s".formatted(file, e.getMessage()));
    }
  }

  private Tensor put(Athanor athanor, Optional<String> stored, HostTensor tensor) {
    try {
      var values = ClientTensors.of(tensor);
      if (stored.isEmpty()) {
        var seconds = Duration.ofSeconds(lease == null ? DEFAULT_LEASE : lease);
        return athanor.upload(values, options -> options.lease(seconds));
      }
      return athanor.store(
          stored.get(),
          values,
          options -> {
            if (lease != null && lease > 0) {
              options.lease(Duration.ofSeconds(lease));
            }
          });
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
