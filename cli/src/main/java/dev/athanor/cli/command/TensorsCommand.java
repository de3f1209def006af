package dev.athanor.cli.command;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.TensorTable;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code athanor tensors}. */
@Command(
    name = "tensors",
    description = {
      "Lists the tensors of a running service, newest first.",
      "Needs the scope tensors:read."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class TensorsCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Mixin private ServiceOption service;

  @Option(names = "--json", description = "prints JSON")
  private boolean json;

  @Override
  public Integer call() {
    try (var athanor = service.connect()) {
      var tensors = athanor.tensors();
      var out = spec.commandLine().getOut();
      if (json) {
        out.println(TensorTable.json(tensors));
      } else {
        TensorTable.lines(tensors).forEach(out::println);
      }
      out.flush();
    }
    return CommandLine.ExitCode.OK;
  }
}
