package dev.athanor.cli.command;

import dev.athanor.cli.report.Build;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code athanor api-key}. */
@Command(
    name = "api-key",
    description = "Creates API keys for clients of the service.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class,
    synopsisSubcommandLabel = "COMMAND")
public final class ApiKeyCommand {

  @Spec
  @SuppressWarnings("NullAway.Init") // picocli sets it
  private CommandSpec spec;

  @Command(
      name = "create",
      description = "Creates a key and prints it, only this once, with the line for the key file.",
      mixinStandardHelpOptions = true)
  int create(
      @Option(names = "--tenant", required = true, description = "the tenant of the key")
          String tenant,
      @Option(
              names = "--scopes",
              required = true,
              description =
                  "comma-separated permissions: ops:run, tensors:read, tensors:write,"
                      + " metrics, priority, admin")
          String scopes,
      @Option(
              names = "--file",
              paramLabel = "FILE",
              description = "appends the line to this file instead of printing it")
          @Nullable Path file) {
    var made =
        ApiKey.create(
            checked("--tenant", () -> new Tenant(tenant)),
            checked("--scopes", () -> Scope.list(scopes)),
            new SecureRandom());
    var out = command().getOut();
    if (file == null) {
      out.printf("key:  %s%nline: %s%n", made.key(), made.line());
    } else {
      try {
        boolean open = Files.exists(file) && !Files.readString(file).matches("(?s)(.*\n)?");
        Files.writeString(
            file,
            (open ? "\n" : "") + made.line() + "\n",
            StandardOpenOption.CREATE,
            StandardOpenOption.APPEND);
      } catch (IOException e) {
        throw usageError("--file %s: cannot append to this file".formatted(file));
      }
      out.println(made.key());
    }
    out.flush();
    return CommandLine.ExitCode.OK;
  }

  private <T> T checked(String option, Supplier<T> value) {
    try {
      return value.get();
    } catch (IllegalArgumentException e) {
      throw usageError(option + ": " + e.getMessage());
    }
  }

  private CommandLine.ParameterException usageError(String message) {
    return new CommandLine.ParameterException(command(), message);
  }

  private CommandLine command() {
    return Objects.requireNonNull(spec.commandLine().getSubcommands().get("create"));
  }
}
