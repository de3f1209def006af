package dev.athanor.cli.command;

import dev.athanor.cli.client.ServiceOption;
import dev.athanor.cli.load.Level;
import dev.athanor.cli.load.Load;
import dev.athanor.cli.load.LoadException;
import dev.athanor.cli.load.Measurement;
import dev.athanor.cli.load.MeasurementPlan;
import dev.athanor.cli.load.Scenario;
import dev.athanor.cli.load.Scenarios;
import dev.athanor.cli.load.ServiceProcess;
import dev.athanor.cli.load.Target;
import dev.athanor.cli.report.Build;
import dev.athanor.cli.report.LoadReport;
import dev.athanor.cli.report.Progress;
import dev.athanor.cli.report.ResultFile;
import dev.athanor.ops.Catalogue;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code athanor load}. */
@Command(
    name = "load",
    description = {
      "Measures a running service under load and checks a sample of its responses.",
      "Scenarios, each quoted as one argument: put SIZE, get SIZE (raw bytes; 64KiB, 16MiB),"
          + " put-json N, get-json N (a list of N f32), op OP PROBLEM, pipeline FILE; over gRPC"
          + " put-grpc SIZE, get-grpc SIZE, op-grpc OP PROBLEM, op-stream OP PROBLEM (all calls in"
          + " one stream).",
      "Example: athanor load --self --resident \"op matmul a=f16[64,64] b=f16[64,64]\" \"put 16MiB\"",
      "Exit status 0: all scenarios measured, no wrong result; 1: otherwise."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Build.Provider.class)
@SuppressWarnings("NullAway.Init") // picocli sets the fields
public final class LoadCommand implements Callable<Integer> {

  private static final Pattern CLIENTS =
      Pattern.compile("([1-9]\\d{0,3})(?::([1-9]\\d{0,3})(?::([1-9]\\d{0,3}))?)?");
  private static final double MAX_RATE = 1e6;

  @Spec private CommandSpec spec;

  @Parameters(arity = "1..*", paramLabel = "SCENARIO", description = "a kind of request, in quotes")
  private List<String> texts;

  @Mixin private ServiceOption service;

  @Option(
      names = "--grpc",
      paramLabel = "HOST:PORT",
      defaultValue = "127.0.0.1:9090",
      description = "the plaintext gRPC address of the service; default: ${DEFAULT-VALUE}")
  private String grpc;

  @Option(
      names = "--self",
      description = "starts and measures a local service on free ports instead of --url")
  private boolean self;

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      description = "the device of the service that --self starts; default: auto")
  private @Nullable String device;

  @Option(
      names = "--header",
      paramLabel = "NAME=VALUE",
      description = "a header of every request; repeatable")
  private Map<String, String> headers = new HashMap<>();

  @Option(
      names = "--concurrency",
      paramLabel = "N[:LAST[:STEP]]",
      description = "closed loop with N clients, or one run per step of a range; default: 1")
  private @Nullable String concurrency;

  @Option(
      names = "--rate",
      split = ",",
      paramLabel = "R",
      description = "open loop with R requests per second, or one run per rate of a list")
  private List<Double> rates = new ArrayList<>();

  @Option(
      names = "--arrivals",
      paramLabel = "WHEN",
      defaultValue = "poisson",
      description = "intervals between requests, constant or poisson; default: ${DEFAULT-VALUE}")
  private String arrivals;

  @Option(
      names = "--resident",
      description =
          "ops read and write resident tensors; otherwise inputs and outputs are sent inline")
  private boolean resident;

  @Option(
      names = "--warmup",
      paramLabel = "S",
      defaultValue = "2",
      description = "seconds before the measurement starts; default: ${DEFAULT-VALUE}")
  private double warmup;

  @Option(
      names = "--window",
      paramLabel = "S",
      defaultValue = "5",
      description = "seconds per window; default: ${DEFAULT-VALUE}")
  private double window;

  @Option(
      names = "--stability",
      paramLabel = "PERCENT",
      defaultValue = "10",
      description =
          "measures until throughput and mean latency of the last three windows deviate by at most"
              + " this from their mean; default: ${DEFAULT-VALUE}")
  private double stability;

  @Option(
      names = "--trials",
      paramLabel = "N",
      defaultValue = "10",
      description = "maximum number of windows; default: ${DEFAULT-VALUE}")
  private int trials;

  @Option(
      names = "--duration",
      paramLabel = "S",
      description = "measures for this many seconds instead of until windows are stable")
  private @Nullable Double duration;

  @Option(
      names = "--retry-after",
      description = "rejected clients wait for Retry-After (closed loop)")
  private boolean honorsRetryAfter;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "seed of random contents and arrivals; default: ${DEFAULT-VALUE}")
  private long seed;

  @Option(
      names = "--csv",
      paramLabel = "FILE",
      description = "writes the rows to this file, with the columns of perf_analyzer")
  private @Nullable Path csv;

  @Option(names = "--json", paramLabel = "FILE", description = "writes all results to this file")
  private @Nullable Path json;

  @Override
  public Integer call() throws IOException, InterruptedException {
    var scenarios = scenarios();
    var levels = levels();
    var plan = plan();
    var target = target();
    checkGrpc();
    ResultFile.check(spec.commandLine(), "--csv", csv);
    ResultFile.check(spec.commandLine(), "--json", json);
    try {
      if (!self) {
        service.headers().forEach(headers::putIfAbsent);
        return measure(target, grpc, scenarios, levels, plan);
      }
      try (var own = ServiceProcess.start(device == null ? "auto" : device)) {
        return measure(own.url(), own.grpc(), scenarios, levels, plan);
      }
    } catch (LoadException e) {
      spec.commandLine().getErr().println("athanor load: " + e.getMessage());
      return CommandLine.ExitCode.SOFTWARE;
    }
  }

  private int measure(
      URI target,
      String grpcTarget,
      List<Scenario> scenarios,
      List<Level> levels,
      MeasurementPlan plan)
      throws IOException, InterruptedException {
    var date = Instant.now();
    double before = LoadReport.systemLoad();
    var rows = new ArrayList<Measurement>();
    try (var progress = new Progress(spec.commandLine().getErr())) {
      int total = scenarios.size() * levels.size();
      for (var scenario : scenarios) {
        for (var level : levels) {
          int number = rows.size() + 1;
          var name = scenario.text();
          progress.at(number, total, name);
          try (var service = new Target(target, grpcTarget, headers)) {
            rows.add(
                new Load(service, plan)
                    .run(
                        scenario,
                        level,
                        (windows, perSecond) ->
                            progress.at(
                                number,
                                total,
                                "%s, window %d: %.1f requests/s"
                                    .formatted(name, windows, perSecond))));
          }
        }
      }
    }
    var report =
        new LoadReport(
            Build.current(),
            date,
            target.toString(),
            Runtime.getRuntime().availableProcessors(),
            List.of(before, LoadReport.systemLoad()),
            rows);
    var out = spec.commandLine().getOut();
    report.table().text().forEach(out::println);
    out.println();
    report.notes().forEach(out::println);
    out.flush();
    ResultFile.write(csv, report.csv());
    ResultFile.write(json, List.of(ResultFile.json(report)));
    return report.ok() ? CommandLine.ExitCode.OK : CommandLine.ExitCode.SOFTWARE;
  }

  private List<Scenario> scenarios() {
    var parser = new Scenarios(Catalogue.load(), resident, seed);
    try {
      return texts.stream().map(parser::parse).toList();
    } catch (IllegalArgumentException e) {
      throw usageError(String.valueOf(e.getMessage()));
    }
  }

  private List<Level> levels() {
    if (!rates.isEmpty()) {
      if (concurrency != null) {
        throw usageError(
            "--concurrency (closed loop) and --rate (open loop) exclude each other; give one");
      }
      return rates.stream().<Level>map(rate -> new Level.Rate(rate(rate), poisson())).toList();
    }
    var text = concurrency == null ? "1" : concurrency;
    var parts = CLIENTS.matcher(text);
    if (!parts.matches()) {
      throw usageError(
          "--concurrency %s: expected clients such as 4, 1:8 or 1:8:2, from 1 to 9999"
              .formatted(text));
    }
    int first = Integer.parseInt(parts.group(1));
    int last = parts.group(2) == null ? first : Integer.parseInt(parts.group(2));
    int step = parts.group(3) == null ? 1 : Integer.parseInt(parts.group(3));
    if (last < first) {
      throw usageError(
          "--concurrency %s: the last, %d, is below the first, %d".formatted(text, last, first));
    }
    var levels = new ArrayList<Level>();
    for (int clients = first; clients <= last; clients += step) {
      levels.add(new Level.Clients(clients));
    }
    return levels;
  }

  private double rate(double rate) {
    if (!(rate > 0 && rate <= MAX_RATE)) {
      throw usageError(
          "--rate %s: expected a rate above 0 and at most 1000000 per second".formatted(rate));
    }
    return rate;
  }

  private boolean poisson() {
    return switch (arrivals) {
      case "poisson" -> true;
      case "constant" -> false;
      default ->
          throw usageError("--arrivals %s: expected constant or poisson".formatted(arrivals));
    };
  }

  private MeasurementPlan plan() {
    if (!(stability > 0 && stability <= 100)) {
      throw usageError(
          "--stability %s: expected a percentage above 0 and at most 100".formatted(stability));
    }
    if (trials < 3) {
      throw usageError("--trials %d: expected at least 3 windows".formatted(trials));
    }
    return new MeasurementPlan(
        seconds("--warmup", warmup, true),
        seconds("--window", window, false),
        duration == null ? Optional.empty() : Optional.of(seconds("--duration", duration, false)),
        trials,
        stability / 100,
        honorsRetryAfter,
        seed);
  }

  private Duration seconds(String option, double value, boolean zero) {
    if (!((value > 0 || (zero && value == 0)) && value <= 86_400)) {
      throw usageError(
          "%s %s: expected seconds, %s and at most 86400"
              .formatted(option, value, zero ? "at least 0" : "above 0"));
    }
    return Duration.ofNanos(Math.round(value * 1e9));
  }

  private URI target() {
    if (device != null && !self) {
      throw usageError("--device requires --self; a running service has its own device");
    }
    return service.url();
  }

  private void checkGrpc() {
    if (!isGrpcAddress()) {
      throw usageError("--grpc %s: expected an address such as 127.0.0.1:9090".formatted(grpc));
    }
  }

  private boolean isGrpcAddress() {
    try {
      var uri = URI.create("grpc://" + grpc);
      return grpc.matches("[^\\s/]+:\\d{1,5}") && uri.getHost() != null && uri.getPort() <= 65_535;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private ParameterException usageError(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
