package dev.athanor.service.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import dev.athanor.ops.Catalogue;
import dev.athanor.service.security.ApiKey;
import dev.athanor.service.security.Scope;
import dev.athanor.service.tensor.Tenant;
import dev.athanor.testing.Programs;
import dev.athanor.testing.ServiceProcess;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.convert.DurationStyle;

/**
 * Runs a service on the emulator at twice its capacity, with clients of all kinds. Every response
 * is checked, and in the end the service must have released all resources.
 *
 * <p>{@code -Dathanor.soak} sets the duration, such as 10m. From one minute on, the test uses all
 * ops instead of a few. It writes its results to {@code target/soak.md}.
 */
@EnabledOnOs(OS.LINUX) // reads /proc
class SoakTest {

  private static final List<String> FEW_OPS =
      List.of("add", "cast", "gather", "matmul", "matmul-int8", "reduce", "rms-norm", "softmax");

  private static final int STREAMS = 2;
  private static final int QUEUE = 16;

  /** Enough clients to keep the streams busy without filling the queue. */
  private static final int CLIENTS = 8;

  @TempDir static Path folder;

  private final Catalogue catalogue = Catalogue.load();
  private final Tally tally = new Tally();
  private final List<String> report = new ArrayList<>();

  private static Duration duration() {
    return DurationStyle.detectAndParse(System.getProperty("athanor.soak", "0s"));
  }

  @Test
  void overloadIsPartlyRejectedAndLeaksNothing() throws Exception {
    var length = duration();
    if (length.isZero()) {
      System.err.println("SKIPPED: SoakTest needs -Dathanor.soak, such as 10s");
    }
    assumeFalse(length.isZero(), "SKIPPED: SoakTest needs -Dathanor.soak, such as 10s");
    Programs.require("bash", "apt-get install bash");
    boolean brief = length.toSeconds() < 60;
    var tombstoneTtl = Duration.ofSeconds(brief ? 2 : 20);
    var samples =
        Sample.draw(catalogue, brief ? FEW_OPS : List.of(), brief ? 1 : 2, brief ? 4096 : 65_536);
    var keys = keys();
    var rows = new ArrayList<String>();
    double idle = load();
    try (var service = ServiceProcess.start(folder, List.of(), settings(tombstoneTtl))) {
      var killedClients =
          new KilledClients(folder, keys.getFirst(), service.url().getPort(), service.grpcPort());
      var warmup = clients(service, samples, keys, 0, tombstoneTtl);
      try (warmup) {
        warmup.each();
        warmup.closed(CLIENTS, length.dividedBy(5));
        killedClients.both();
      }
      assertThat(tally.wrong()).isEmpty();
      var before = idleResources(service, keys, null);
      report.add("| after | " + Resources.columns() + " |");
      report.add("| --- |" + " ---: |".repeat(8));
      report.add("| warm-up | " + before.row() + " |");

      Soak.LoadResult once;
      var measured = clients(service, samples, keys, warmup.turns(), tombstoneTtl);
      try (measured) {
        once = measured.closed(CLIENTS, length.dividedBy(5));
      }
      rows.add(row("1", once));
      int rounds = brief ? 1 : 5;
      long turns = measured.turns();
      for (int round = 1; round <= rounds; round++) {
        var overload = clients(service, samples, keys, turns, tombstoneTtl);
        try (overload) {
          var twice =
              overload.open(
                  2 * once.sent(), length.multipliedBy(4).dividedBy(5L * rounds), 1_000_000);
          killedClients.both();
          rows.add(row("2", twice));
          turns = overload.turns();
        }
        var after = idleResources(service, keys, before);
        report.add("| round %d | %s |".formatted(round, after.row()));
        assertThat(tally.wrong()).isEmpty();
        assertThat(after)
            .as("before: %s", before)
            .matches(now -> now.isNear(before), "nothing has leaked");
      }
      assertThat(tally.byOutcome().keySet())
          .isSubsetOf(Tally.OK, "queue-full", "out-of-host-memory", "deadline-exceeded");
      assertThat(tally.counts())
          .allSatisfy((kind, outcomes) -> assertThat(outcomes).as(kind).containsKey(Tally.OK));
    } finally {
      report(samples, rows, idle);
    }
  }

  /** Returns the load average of the machine. */
  private static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  private Soak clients(
      ServiceProcess service,
      List<Sample> samples,
      List<String> keys,
      long first,
      Duration tombstoneTtl) {
    return new Soak(
        service, catalogue, samples, keys.subList(0, keys.size() - 1), tally, first, tombstoneTtl);
  }

  /** Creates keys for three tenants, and one for reading metrics. */
  private static List<String> keys() throws IOException {
    var random = new SecureRandom();
    var made = new ArrayList<ApiKey.NewKey>();
    for (var tenant : List.of("alpha", "beta", "gamma")) {
      made.add(
          ApiKey.create(
              new Tenant(tenant),
              EnumSet.of(Scope.OPS_RUN, Scope.TENSORS_READ, Scope.TENSORS_WRITE, Scope.PRIORITY),
              random));
    }
    made.add(ApiKey.create(new Tenant("watch"), EnumSet.of(Scope.METRICS), random));
    Files.write(folder.resolve("keys"), made.stream().map(ApiKey.NewKey::line).toList());
    return made.stream().map(ApiKey.NewKey::key).toList();
  }

  private static List<String> settings(Duration tombstoneTtl) {
    return List.of(
        "athanor.run.streams=" + STREAMS,
        "athanor.run.queue=" + QUEUE,
        "athanor.tensors.tombstone-ttl=%ds".formatted(tombstoneTtl.toSeconds()),
        "athanor.tuning.cache=" + folder.resolve("tuning.json"),
        "athanor.security.mode=api-key",
        "athanor.security.api-keys.file=" + folder.resolve("keys"));
  }

  /**
   * Returns the resources of the idle service.
   *
   * @param before the expected resources, which are awaited; null for none yet
   */
  private static Resources idleResources(
      ServiceProcess service, List<String> keys, @Nullable Resources before)
      throws IOException, InterruptedException {
    try (var rest = new Rest(service.url())) {
      Resources.Page page =
          () -> {
            try {
              var answer =
                  rest.send(
                      keys.getLast(), "GET", "/actuator/prometheus", "text/plain", new byte[0]);
              return new String(answer.body(), StandardCharsets.UTF_8).lines().toList();
            } catch (Refusal e) {
              throw new AssertionError(e);
            }
          };
      long end = System.nanoTime() + Duration.ofHours(1).toNanos();
      Resources now;
      boolean idleResources;
      do {
        now = Resources.of(service.process(), page);
        idleResources = before == null ? now.tensors() == 0 : now.isNear(before);
      } while (!idleResources && System.nanoTime() < end);
      return now;
    }
  }

  private static String row(String load, Soak.LoadResult stretch) {
    return "| %s× | %.0f | %.0f | %.0f |"
        .formatted(load, stretch.seconds(), stretch.sent(), stretch.done());
  }

  private void report(List<Sample> samples, List<String> rows, double idle) throws IOException {
    report.add("");
    report.add("| load | s | requests per second | successes per second |");
    report.add("| --- | ---: | ---: | ---: |");
    report.addAll(rows);
    report.add("");
    var outcomes = tally.byOutcome().keySet();
    report.add("| action | " + String.join(" | ", outcomes) + " |");
    report.add("| --- |" + " ---: |".repeat(outcomes.size()));
    tally
        .counts()
        .forEach((kind, by) ->
            report.add(
                "| %s | %s |"
                    .formatted(
                        kind,
                        outcomes.stream()
                            .map(outcome -> by.containsKey(outcome) ? by.get(outcome) + "" : "0")
                            .collect(Collectors.joining(" | ")))));
    report.add("");
    report.add(
        "%s, %d cores, load %.1f before and %.1f at the end; %d samples of %d ops, %d turns in total"
            .formatted(
                LocalDate.now(ZoneOffset.UTC),
                Runtime.getRuntime().availableProcessors(),
                idle,
                load(),
                samples.size(),
                samples.stream().map(Sample::name).distinct().count(),
                tally.byOutcome().values().stream().mapToLong(Long::longValue).sum()));
    Files.createDirectories(Path.of("target"));
    tally.wrong().forEach(report::add);
    Files.write(Path.of("target", "soak.md"), report);
  }
}
