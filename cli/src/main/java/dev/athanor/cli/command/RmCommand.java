package dev.athanor.cli.command;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.report.Build;
import dev.athanor.client.AthanorException;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor rm}. */
@Command(
    name = "rm",
    description = {
      "Deletes tensors of a running service.",
      "Exit status 0: all deleted; 1: otherwise.",
      "Needs the scopes tensors:read and tensors:write."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class RmCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  private static final int NOT_FOUND = 404;
  private static final int GONE = 410;

  @Parameters(arity = "1..*", paramLabel = "TENSOR", description = "a handle or name")
  private List<String> handles;

  @Mixin private ServiceOption service;

  @Override
  public Integer call() {
    int status = CommandLine.ExitCode.OK;
    try (var athanor = service.connect()) {
      for (var handle : handles) {
        try {
          service.attach(athanor, handle).delete();
        } catch (AthanorException e) {
          if (e.status() != NOT_FOUND && e.status() != GONE) {
            throw e;
          }
          spec.commandLine().getErr().println("athanor rm: " + e.detail());
          status = CommandLine.ExitCode.SOFTWARE;
        }
      }
    }
    return status;
  }
}
