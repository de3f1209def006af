package dev.athanor.cli.command;

import dev.athanor.cli.argument.PluginsOption;
import dev.athanor.cli.load.LoadException;
import dev.athanor.cli.load.TrainingRun;
import dev.athanor.cli.report.Build;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.AthanorApplication;
import dev.athanor.service.config.AthanorProperties;
import dev.athanor.service.config.StartupFailure;
import dev.athanor.service.config.StartupReport;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor serve}. */
@Command(
    name = "serve",
    description = "Starts the service.",
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class ServeCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "the REST port; default: 8080; 0 = any free port")
  private @Nullable Integer port;

  @Option(
      names = "--grpc-port",
      paramLabel = "PORT",
      description = "the gRPC port; default: 9090; 0 = any free port")
  private @Nullable Integer grpcPort;

  @Option(
      names = "--bind",
      paramLabel = "ADDRESS",
      description = "the address to listen on; default: 127.0.0.1")
  private @Nullable String address;

  @Option(
      names = "--device",
      paramLabel = "DEVICES",
      description = AthanorProperties.DEVICES_IN_WORDS + "; default: auto")
  private @Nullable String device;

  @Option(
      names = "--config",
      description = "a YAML or properties file; options override it",
      paramLabel = "FILE")
  private @Nullable Path config;

  @Mixin private PluginsOption plugins;

  @Option(
      names = "--weights",
      description =
          "a folder of .safetensors and .gguf files, whose tensors are loaded under their names",
      paramLabel = "DIR")
  private @Nullable Path weights;

  @Option(
      names = "--models",
      description = "a folder that keeps stored models, which the next start loads",
      paramLabel = "DIR")
  private @Nullable Path models;

  @Option(
      names = "--check",
      description =
          "starts with these settings, runs the self-test and stops; exit status 0 if ready")
  private boolean checkOnly;

  @Option(
      names = "--train",
      hidden = true, // for the script that creates the cache of StartupCache
      description = "with --check, sends typical requests while the service runs")
  private boolean training;

  private boolean ready;

  @Override
  public Integer call() {
    check();
    var out = spec.commandLine().getOut();
    out.println("Athanor %s is starting.".formatted(Build.current().version()));
    out.flush();
    try {
      if (checkOnly) {
        AthanorApplication.check(
            report -> {
              print(report);
              train(report);
            },
            settings());
      } else {
        print(AthanorApplication.start(settings()));
      }
      return checkOnly && !ready ? CommandLine.ExitCode.SOFTWARE : CommandLine.ExitCode.OK;
    } catch (RuntimeException e) {
      var known = StartupFailure.of(e);
      if (known.isEmpty()) {
        return CommandLine.ExitCode.SOFTWARE; // Spring Boot has logged why
      }
      var sentence = known.get().sentence();
      if (known.get().misuse()) {
        throw usageError(
            isCausedByDeviceOption(e) ? "--device %s: %s".formatted(device, sentence) : sentence);
      }
      spec.commandLine().getErr().println("athanor serve: " + sentence);
      return CommandLine.ExitCode.SOFTWARE;
    }
  }

  private void print(StartupReport report) {
    var out = spec.commandLine().getOut();
    ready = report.isReady();
    out.println();
    report.lines().forEach(out::println);
    out.println();
    var result = ready ? "Ready." : "Not ready: the self-test failed; see the log.";
    out.println(checkOnly ? result : result + " Press Ctrl-C to stop.");
    if (!checkOnly && ready) {
      StartupCache.script().ifPresent(this::prepare);
    }
    out.flush();
  }

  private void train(StartupReport report) {
    var grpc = report.grpcAddress();
    if (training && ready && grpc != null) {
      try {
        TrainingRun.run(URI.create(report.rest()), grpc);
      } catch (LoadException e) { // what was learned so far helps, too
        spec.commandLine().getErr().println("athanor serve: " + e.getMessage());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void prepare(Path script) {
    try {
      StartupCache.create(script);
      var out = spec.commandLine().getOut();
      out.println("Preparing faster starts in the background; this happens once.");
    } catch (IOException e) {
      spec.commandLine().getErr().println("Later starts will not be faster: " + e.getMessage());
    }
  }

  /** Returns whether the unavailable device was requested with {@code --device}. */
  private boolean isCausedByDeviceOption(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof DeviceException.Unavailable) {
        return device != null;
      }
    }
    return false;
  }

  private void check() {
    if (config != null && !Files.isReadable(config)) {
      throw usageError("--config: cannot read file " + config);
    }
    plugins.folder();
    if (weights != null && !Files.isDirectory(weights)) {
      throw usageError("--weights: no such folder: " + weights);
    }
    checkPort("--port", port);
    checkPort("--grpc-port", grpcPort);
    if (device != null && !device.matches(AthanorProperties.DEVICES)) {
      throw usageError(
          "--device %s: expected %s".formatted(device, AthanorProperties.DEVICES_IN_WORDS));
    }
  }

  private void checkPort(String option, @Nullable Integer number) {
    if (number != null && (number < 0 || number > 65_535)) {
      throw usageError(option + " " + number + ": expected a port from 0 to 65535");
    }
  }

  /** Returns the settings of the options as Spring Boot arguments. */
  private String[] settings() {
    var settings = new ArrayList<String>();
    add(settings, "server.port", port);
    add(settings, "spring.grpc.server.port", grpcPort);
    add(settings, "server.address", address);
    add(settings, "athanor.device", device);
    add(settings, "athanor.plugins", plugins.folder());
    add(settings, "athanor.weights", weights);
    add(settings, "athanor.models.dir", models);
    add(
        settings,
        "spring.config.additional-location",
        config == null ? null : config.toAbsolutePath().toUri());
    return settings.toArray(String[]::new);
  }

  private static void add(List<String> settings, String property, @Nullable Object value) {
    if (value != null) {
      settings.add("--" + property + "=" + value);
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
