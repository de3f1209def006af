package dev.athanor.service;

import dev.athanor.service.cli.BadUse;
import dev.athanor.service.cli.BenchCommand;
import dev.athanor.service.cli.Build;
import dev.athanor.service.cli.OpsCommand;
import dev.athanor.service.cli.VerifyCommand;
import dev.athanor.service.cli.VersionCommand;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** The command line, {@code athanor}: exit status 0 = done, 1 = failed, 2 = bad use. */
@Command(
    name = "athanor",
    description = "GPU operations as a service for the JVM.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class,
    subcommands = {BenchCommand.class, OpsCommand.class, VerifyCommand.class, VersionCommand.class},
    synopsisSubcommandLabel = "COMMAND")
public final class Athanor {
  private Athanor() {}

  public static void main(String[] args) {
    int status = commandLine().execute(args);
    // With status 0 the server's threads may still be at work: the JVM ends when they do.
    if (status != 0) {
      System.exit(status);
    }
  }

  /** The program with all of its commands. */
  public static CommandLine commandLine() {
    return new CommandLine(new Athanor()).setParameterExceptionHandler(new BadUse());
  }

  @Command(
      name = "serve",
      description = "Starts the service.",
      mixinStandardHelpOptions = true,
      showDefaultValues = true)
  void serve(
      @Option(
              names = "--port",
              description = "where it listens; 0 takes a free port",
              defaultValue = "8080")
          int port,
      @Option(
              names = "--bind",
              description = "the address it listens on",
              defaultValue = "127.0.0.1")
          String address) {
    SpringApplication.run(Service.class, "--server.port=" + port, "--server.address=" + address);
  }

  /** The Spring application that {@code serve} starts. */
  @SpringBootApplication(proxyBeanMethods = false)
  static class Service {}
}
