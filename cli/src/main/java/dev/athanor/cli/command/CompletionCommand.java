package dev.athanor.cli.command;

import dev.athanor.cli.report.Build;
import java.util.concurrent.Callable;
import picocli.AutoComplete;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code athanor completion}. */
@Command(
    name = "completion",
    description = {
      "Prints a script for bash and zsh that completes commands and options.",
      "Example: source <(athanor completion)"
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
public final class CompletionCommand implements Callable<Integer> {

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Override
  public Integer call() {
    var out = spec.commandLine().getOut();
    out.print(AutoComplete.bash(spec.root().name(), spec.root().commandLine()));
    out.flush();
    return CommandLine.ExitCode.OK;
  }
}
