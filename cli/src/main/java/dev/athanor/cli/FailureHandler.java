package dev.athanor.cli;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.client.AthanorException;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.lift.CheckFailedException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.ParseResult;

/**
 * Reports failures of devices, kernels, files and services in one sentence; others print their
 * stack trace.
 */
public final class FailureHandler implements IExecutionExceptionHandler {

  @Override
  public int handleExecutionException(Exception e, CommandLine command, ParseResult parsed)
      throws Exception {
    var message =
        switch (e) {
          case DeviceException _, CheckFailedException _ -> e.getMessage();
          case AthanorException refusal -> ServiceOption.sentence(refusal);
          case IOException io -> sentence(io);
          case UncheckedIOException io -> sentence(io.getCause());
          default -> throw e;
        };
    command
        .getErr()
        .printf("%s: %s%n", command.getCommandSpec().qualifiedName(), String.valueOf(message));
    command.getErr().flush();
    return CommandLine.ExitCode.SOFTWARE;
  }

  private static String sentence(@Nullable IOException e) {
    return e instanceof FileSystemException file
        ? "cannot access %s: %s"
            .formatted(
                file.getFile(),
                file.getReason() == null ? file.getClass().getSimpleName() : file.getReason())
        : "cannot read or write a file: " + (e == null ? "unknown reason" : e.getMessage());
  }
}
