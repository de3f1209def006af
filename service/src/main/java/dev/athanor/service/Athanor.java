package dev.athanor.service;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.cli.ApiKeyCommand;
import dev.athanor.service.cli.BadUse;
import dev.athanor.service.cli.BenchCommand;
import dev.athanor.service.cli.Build;
import dev.athanor.service.cli.EmulateCommand;
import dev.athanor.service.cli.LoadCommand;
import dev.athanor.service.cli.OpsCommand;
import dev.athanor.service.cli.ProfileCommand;
import dev.athanor.service.cli.PtxCommand;
import dev.athanor.service.cli.RunCommand;
import dev.athanor.service.cli.ShowcaseCommand;
import dev.athanor.service.cli.TuneCommand;
import dev.athanor.service.cli.VerifyCommand;
import dev.athanor.service.cli.VersionCommand;
import dev.athanor.service.config.AthanorProperties;
import dev.athanor.service.security.SecurityMisconfigured;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeansException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.grpc.server.autoconfigure.security.GrpcServerOAuth2ResourceServerAutoConfiguration;
import org.springframework.boot.grpc.server.autoconfigure.security.GrpcServerSecurityAutoConfiguration;
import org.springframework.boot.web.server.WebServerException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command line, {@code athanor}: exit status 0 = done, 1 = failed, 2 = bad use. */
@Command(
    name = "athanor",
    description = "GPU operations as a service for the JVM.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class,
    subcommands = {
      ApiKeyCommand.class,
      BenchCommand.class,
      EmulateCommand.class,
      LoadCommand.class,
      OpsCommand.class,
      ProfileCommand.class,
      PtxCommand.class,
      RunCommand.class,
      ShowcaseCommand.class,
      TuneCommand.class,
      VerifyCommand.class,
      VersionCommand.class
    },
    synopsisSubcommandLabel = "COMMAND")
public final class Athanor {
  private Athanor() {}

  public static void main(String[] args) {
    // numbers are written alike on every machine
    Locale.setDefault(Locale.Category.FORMAT, Locale.ROOT);
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

  @Command(name = "serve", description = "Starts the service.", mixinStandardHelpOptions = true)
  int serve(
      @Option(names = "--port", description = "where it listens (8080); 0 takes a free port")
          @Nullable Integer port,
      @Option(names = "--grpc-port", description = "where gRPC listens (9090); 0 takes a free port")
          @Nullable Integer grpcPort,
      @Option(names = "--bind", description = "the address both listen on (127.0.0.1)")
          @Nullable String address,
      @Option(names = "--device", description = AthanorProperties.DEVICES_IN_WORDS + " (auto)")
          @Nullable String device,
      @Option(
              names = "--config",
              description = "a YAML or properties file; what the options say wins over it",
              paramLabel = "FILE")
          @Nullable Path config,
      @Option(
              names = "--plugins",
              description = "a folder whose jars bring further ops",
              paramLabel = "DIR")
          @Nullable Path plugins) {
    var arguments = new ArrayList<String>();
    if (config != null && !Files.isReadable(config)) {
      throw misuse("--config: there is no readable file " + config);
    }
    if (plugins != null && !Files.isDirectory(plugins)) {
      throw misuse("--plugins: there is no folder " + plugins);
    }
    checkPort("--port", port);
    checkPort("--grpc-port", grpcPort);
    if (device != null && !device.matches(AthanorProperties.DEVICES)) {
      throw misuse(
          "--device: %s is no device; it may be %s"
              .formatted(device, AthanorProperties.DEVICES_IN_WORDS));
    }
    add(arguments, "server.port", port);
    add(arguments, "spring.grpc.server.port", grpcPort);
    add(arguments, "server.address", address);
    add(arguments, "athanor.device", device);
    add(arguments, "athanor.plugins", plugins);
    add(
        arguments,
        "spring.config.additional-location",
        config == null ? null : config.toAbsolutePath().toUri());
    var application = new SpringApplication(Service.class);
    try {
      application.run(arguments.toArray(String[]::new));
      return CommandLine.ExitCode.OK;
    } catch (BeansException | WebServerException e) {
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        if (cause instanceof DeviceException.Unavailable) {
          throw misuse("--device %s: %s".formatted(device, cause.getMessage()));
        }
        if (cause instanceof SecurityMisconfigured) {
          throw misuse(String.valueOf(cause.getMessage()));
        }
      }
      return CommandLine.ExitCode.SOFTWARE; // Spring has logged why
    }
  }

  private void checkPort(String option, @Nullable Integer port) {
    if (port != null && (port < 0 || port > 65_535)) {
      throw misuse(option + ": " + port + " is no port; ports are 0 to 65535");
    }
  }

  @Spec private @Nullable CommandSpec spec;

  private CommandLine.ParameterException misuse(String message) {
    return new CommandLine.ParameterException(
        Objects.requireNonNull(spec).commandLine().getSubcommands().get("serve"), message);
  }

  private static void add(List<String> arguments, String property, @Nullable Object value) {
    if (value != null) {
      arguments.add("--" + property + "=" + value);
    }
  }

  /** The Spring application that {@code serve} starts; who may call over gRPC is ours to decide. */
  @SpringBootApplication(
      proxyBeanMethods = false,
      exclude = {
        GrpcServerOAuth2ResourceServerAutoConfiguration.class,
        GrpcServerSecurityAutoConfiguration.class
      })
  static class Service {}
}
