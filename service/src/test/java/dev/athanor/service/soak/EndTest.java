package dev.athanor.service.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.ServiceProcess;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a service ends in the middle of its work: killed, and told to. */
class EndTest {

  private static final String NOBODY = "";
  private static final byte[] NOTHING = {};
  private static final int SIGTERM = 143;

  /** A product of two squares of this takes the emulator some hundred milliseconds. */
  private static final int LARGE = 768;

  @TempDir Path folder;

  /** A product of zeros, which takes the emulator some time when {@code n} is large. */
  private static byte[] product(int n) {
    var zeros = Base64.getEncoder().encodeToString(new byte[4 * n * n]);
    var factor =
        "{\"dtype\": \"f32\", \"shape\": [%d, %d], \"base64\": \"%s\"}".formatted(n, n, zeros);
    return "{\"inputs\": {\"a\": %s, \"b\": %s}, \"outputs\": {\"c\": {\"encoding\": \"base64\"}}}"
        .formatted(factor, factor)
        .getBytes(StandardCharsets.UTF_8);
  }

  private static Rest.Answer multiply(Rest rest, int n) throws Exception {
    return rest.send(NOBODY, "POST", "/ops/matmul", "application/json", product(n));
  }

  private ServiceProcess start() throws IOException, InterruptedException {
    return ServiceProcess.start(
        folder,
        "athanor.run.streams=2",
        "athanor.run.drain-delay=1s",
        "athanor.tuning.cache=" + folder.resolve("tuning.json"));
  }

  @Test
  void whatIsKilledLosesItsTensorsAndWhatIsToldToEndFinishesItsWork() throws Exception {
    String old;
    try (var service = start();
        var rest = new Rest(service.url());
        var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      old =
          rest.send(
                  NOBODY,
                  "POST",
                  "/tensors?dtype=u8&shape=3",
                  "application/octet-stream",
                  new byte[3])
              .json()
              .path("handle")
              .asString();
      var lost = clients.submit(() -> multiply(rest, LARGE));
      busy(rest);
      service.process().destroyForcibly();
      assertThat(service.process().waitFor(30, TimeUnit.SECONDS)).isTrue();
      assertThat(lost)
          .failsWithin(Duration.ofSeconds(30))
          .withThrowableThat()
          .withCauseInstanceOf(IOException.class);
    }
    try (var service = start()) {
      try (var rest = new Rest(service.url())) {
        rest.refused("unknown-handle", NOBODY, "GET", "/tensors/" + old, NOTHING);
        assertThat(multiply(rest, 2).status()).isEqualTo(200);
      }
      drains(service);
    }
  }

  private static void busy(Rest rest) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() ->
            new String(
                    rest.send(NOBODY, "GET", "/actuator/prometheus", "", NOTHING).body(),
                    StandardCharsets.UTF_8)
                .lines()
                .anyMatch(line -> line.matches("athanor_streams_busy\\{.* [1-9].*")));
  }

  /** Clients go on until there is nobody to talk to; each knows what has become of its call. */
  private static void drains(ServiceProcess service) throws Exception {
    Set<String> outcomes = ConcurrentHashMap.newKeySet();
    var begun = new CountDownLatch(3);
    try (var rest = new Rest(service.url());
        var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var pressing = new ArrayList<Future<?>>();
      for (int i = 0; i < 3; i++) {
        pressing.add(
            clients.submit(() -> {
              try (var own = new Rest(service.url())) {
                while (true) {
                  try {
                    multiply(own, 4);
                    outcomes.add(Tally.OK);
                    begun.countDown();
                  } catch (Refusal e) {
                    outcomes.add(e.code());
                  }
                }
              } catch (IOException e) {
                return true; // it listens no more
              }
            }));
      }
      assertThat(begun.await(60, TimeUnit.SECONDS)).isTrue();
      var large = clients.submit(() -> multiply(rest, LARGE));
      busy(rest);
      service.process().destroy();
      // what was at work when the end was announced is finished
      assertThat(large).succeedsWithin(Duration.ofMinutes(1)).matches(a -> a.status() == 200);
      for (var client : pressing) {
        assertThat(client).succeedsWithin(Duration.ofMinutes(1));
      }
      assertThat(service.process().waitFor(60, TimeUnit.SECONDS)).isTrue();
    }
    assertThat(outcomes).contains(Tally.OK).isSubsetOf(List.of(Tally.OK, "draining"));
    assertThat(service.process().exitValue()).isEqualTo(SIGTERM);
    assertThat(service.output()).contains("Draining: ").doesNotContain("ERROR");
  }
}
