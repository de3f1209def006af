package dev.athanor.cli.command;

import dev.athanor.cli.argument.TensorFile;
import dev.athanor.cli.client.ClientTensors;
import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.TensorText;
import dev.athanor.ops.TensorType;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor get}. */
@Command(
    name = "get",
    description = {
      "Downloads a tensor of a running service, and prints it if no file is given.",
      "Needs the scope tensors:read."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class GetCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Parameters(index = "0", paramLabel = "TENSOR", description = "the handle or name")
  private String handle;

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "FILE",
      description =
          "the file: npy or safetensors if its name ends in .npy or .safetensors, else raw bytes")
  private @Nullable Path file;

  @Mixin private ServiceOption service;

  @Override
  public Integer call() throws IOException {
    try (var athanor = service.connect()) {
      var tensor = service.attach(athanor, handle);
      var type = ClientTensors.type(tensor.dtype(), tensor.shape());
      if (file != null) {
        check(file, type);
      }
      var values = ClientTensors.download(tensor);
      var out = spec.commandLine().getOut();
      if (file == null) {
        out.printf("%s %s%n", handle, type.text());
        TensorText.lines(values).forEach(out::println);
      } else {
        TensorFile.write(file, values);
        out.printf("%s %s, written to %s%n", handle, type.text(), file);
      }
      out.flush();
    }
    return CommandLine.ExitCode.OK;
  }

  private void check(Path target, TensorType type) {
    try {
      TensorFile.check(TensorFile.writable(target), type);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), String.valueOf(e.getMessage()), e);
    }
  }
}
