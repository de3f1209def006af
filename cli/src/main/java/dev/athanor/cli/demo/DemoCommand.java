package dev.athanor.cli.demo;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.load.LoadException;
import dev.athanor.cli.load.ServiceProcess;
import dev.athanor.cli.load.Target;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.Progress;
import dev.athanor.client.Athanor;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code athanor demo}. */
@Command(
    name = "demo",
    description = {
      "Stores a small decoder with random weights, generates text in two sessions, and prints the"
          + " tokens per second, the time of each op and the memory.",
      "Starts a local service on free ports; with --url, uses a running one.",
      "Exit status 0: a second run with the same seeds generated the same tokens; 1: otherwise."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class DemoCommand implements Callable<Integer> {

  /** Bounds each call. */
  static final Duration DEADLINE = Duration.ofMinutes(10);

  private static final int MAX_LAYERS = 64;
  private static final int MAX_HIDDEN = 4096;
  private static final int MAX_TOKENS = 1024;

  @Spec private CommandSpec spec;

  @Option(
      names = "--layers",
      paramLabel = "N",
      defaultValue = "4",
      description = "the layers of the decoder; default: ${DEFAULT-VALUE}")
  private int layers;

  @Option(
      names = "--hidden",
      paramLabel = "N",
      defaultValue = "128",
      description = "the elements of a position between layers; default: ${DEFAULT-VALUE}")
  private int hidden;

  @Option(
      names = "--tokens",
      paramLabel = "N",
      defaultValue = "48",
      description = "the tokens to generate in each session; default: ${DEFAULT-VALUE}")
  private int tokens;

  @Option(
      names = "--seed",
      paramLabel = "N",
      defaultValue = "1",
      description = "seed of the weights; default: ${DEFAULT-VALUE}")
  private long seed;

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      description = "the device of the local service; default: auto")
  private @Nullable String device;

  @Mixin private ServiceOption service;

  @Override
  public Integer call() throws IOException, InterruptedException {
    check();
    try {
      if (service.isGiven()) {
        return run(service.url(), service.headers());
      }
      try (var own = ServiceProcess.start(device == null ? "auto" : device)) {
        return run(own.url(), Map.of());
      }
    } catch (LoadException e) {
      spec.commandLine().getErr().println("athanor demo: " + e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
  }

  private int run(URI url, Map<String, String> headers) throws IOException, InterruptedException {
    var builder = Athanor.builder(url.toString()).deadline(DEADLINE);
    headers.forEach(builder::header);
    builder.header("X-Row-Invariant", "true"); // both runs compute the same, in one batch or two
    DemoReport report;
    try (var athanor = builder.build();
        var target = new Target(url, "", headers);
        var progress = new Progress(spec.commandLine().getErr())) {
      report =
          new Demo(athanor, target, progress).run(new DemoCheckpoint(layers, hidden, seed), tokens);
    }
    var out = spec.commandLine().getOut();
    report.lines().forEach(out::println);
    out.flush();
    return report.isReproduced() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
  }

  private void check() {
    checkRange("--layers", layers, MAX_LAYERS);
    checkRange("--tokens", tokens, MAX_TOKENS);
    if (hidden < 1 || hidden > MAX_HIDDEN || hidden % DemoCheckpoint.HEAD != 0) {
      throw usageError(
          "--hidden %d: expected a multiple of %d, at most %d"
              .formatted(hidden, DemoCheckpoint.HEAD, MAX_HIDDEN));
    }
    if (device != null && service.isGiven()) {
      throw usageError("--device and --url exclude each other; a running service has its device");
    }
  }

  private void checkRange(String option, int value, int most) {
    if (value < 1 || value > most) {
      throw usageError("%s %d: expected 1 to %d".formatted(option, value, most));
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
