package dev.athanor.service.cli;

import java.util.TreeSet;
import picocli.CommandLine;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;

/** Answers bad use with one sentence instead of a page of help. */
public final class BadUse implements IParameterExceptionHandler {

  @Override
  public int handleParseException(ParameterException e, String[] arguments) {
    var command = e.getCommandLine();
    var message = String.valueOf(e.getMessage()).strip().lines().findFirst().orElse("bad use");
    var commands = new TreeSet<>(command.getSubcommands().keySet());
    var right = commands.isEmpty() ? "" : "; commands are " + String.join(", ", commands);
    command.getErr().printf("%s: %s%s%n", command.getCommandSpec().qualifiedName(), message, right);
    command.getErr().flush();
    return CommandLine.ExitCode.USAGE;
  }
}
