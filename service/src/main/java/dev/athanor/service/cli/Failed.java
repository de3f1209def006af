package dev.athanor.service.cli;

import dev.athanor.engine.device.DeviceException;
import java.io.IOException;
import java.io.UncheckedIOException;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ParseResult;

/** Answers failures of devices and files with one sentence; others keep their stack trace. */
public final class Failed implements IExecutionExceptionHandler {

  @Override
  public int handleExecutionException(Exception e, CommandLine command, ParseResult parsed)
      throws Exception {
    if (!(e instanceof DeviceException
        || e instanceof IOException
        || e instanceof UncheckedIOException)) {
      throw e;
    }
    var failure = e instanceof UncheckedIOException unchecked ? unchecked.getCause() : e;
    // file system exceptions have the name of the file alone for a message
    var message =
        failure instanceof IOException
            ? failure.getClass().getSimpleName().replace("Exception", "")
                + ": "
                + failure.getMessage()
            : failure.getMessage();
    command
        .getErr()
        .printf("%s: %s%n", command.getCommandSpec().qualifiedName(), String.valueOf(message));
    command.getErr().flush();
    return CommandLine.ExitCode.SOFTWARE;
  }
}
