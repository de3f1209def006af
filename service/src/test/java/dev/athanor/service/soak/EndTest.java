package dev.athanor.service.soak;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.testing.ServiceProcess;
import dev.athanor.testing.TestTier;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the end of a busy service by SIGKILL and by SIGTERM. */
@Tag(TestTier.THOROUGH_TAG)
class EndTest {

  private static final String NO_KEY = "";
  private static final byte[] EMPTY = {};
  private static final int SIGTERM = 143;

  /**
   * A product of two square matrices of this size takes several hundred milliseconds on the
   * emulator.
   */
  private static final int LARGE = 768;

  @TempDir Path folder;

  /** Returns a request for a product of two n×n matrices of zeros. */
  private static byte[] product(int n) {
    var zeros = Base64.getEncoder().encodeToString(new byte[4 * n * n]);
    var factor =
        "{\"dtype\": \"f32\", \"shape\": [%d, %d], \"base64\": \"%s\"}".formatted(n, n, zeros);
    return "{\"inputs\": {\"a\": %s, \"b\": %s}, \"outputs\": {\"c\": {\"encoding\": \"base64\"}}}"
        .formatted(factor, factor)
        .getBytes(StandardCharsets.UTF_8);
  }

  private static Rest.Answer multiply(Rest rest, int n) throws Exception {
    return rest.send(NO_KEY, "POST", "/ops/matmul", "application/json", product(n));
  }

  private ServiceProcess start() throws IOException, InterruptedException {
    return ServiceProcess.start(
        folder,
        List.of(),
        List.of(
            "athanor.run.streams=2",
            "athanor.run.queue-time=1h",
            "athanor.run.drain-delay=1s",
            "athanor.run.drain-timeout=1h",
            "spring.lifecycle.timeout-per-shutdown-phase=2h",
            "athanor.tuning.cache=" + folder.resolve("tuning.json")));
  }

  @Test
  void killedServiceLosesItsTensorsAndTerminatedServiceFinishesItsWork() throws Exception {
    String old;
    try (var service = start();
        var rest = new Rest(service.url());
        var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      old =
          rest.send(
                  NO_KEY,
                  "POST",
                  "/tensors?dtype=u8&shape=3",
                  "application/octet-stream",
                  new byte[3])
              .json()
              .path("handle")
              .asString();
      var lost = clients.submit(() -> multiply(rest, LARGE));
      awaitBusy(rest);
      service.process().destroyForcibly();
      service.process().waitFor();
      assertThat(lost)
          .failsWithin(Duration.ofHours(1))
          .withThrowableThat()
          .withCauseInstanceOf(IOException.class);
    }
    try (var service = start()) {
      try (var rest = new Rest(service.url())) {
        rest.refused("unknown-handle", NO_KEY, "GET", "/tensors/" + old, EMPTY);
        assertThat(multiply(rest, 2).status()).isEqualTo(200);
      }
      expectDrain(service);
    }
  }

  private static void awaitBusy(Rest rest) {
    await()
        .until(() ->
            new String(
                    rest.send(NO_KEY, "GET", "/actuator/prometheus", "", EMPTY).body(),
                    StandardCharsets.UTF_8)
                .lines()
                .anyMatch(line -> line.matches("athanor_streams_busy\\{.* [1-9].*")));
  }

  /**
   * Terminates the service under load. Clients send calls until the connection is refused; every
   * call must succeed or report the drain.
   */
  private static void expectDrain(ServiceProcess service) throws Exception {
    Set<String> outcomes = ConcurrentHashMap.newKeySet();
    var started = new CountDownLatch(3);
    try (var rest = new Rest(service.url());
        var clients = Executors.newVirtualThreadPerTaskExecutor()) {
      var senders = new ArrayList<Future<?>>();
      for (int i = 0; i < 3; i++) {
        senders.add(
            clients.submit(() -> {
              try (var own = new Rest(service.url())) {
                while (true) {
                  try {
                    multiply(own, 4);
                    outcomes.add(Tally.OK);
                    started.countDown();
                  } catch (Refusal e) {
                    outcomes.add(e.code());
                  }
                }
              } catch (IOException e) {
                return true; // no longer listening
              }
            }));
      }
      started.await();
      var large = clients.submit(() -> multiply(rest, LARGE));
      awaitBusy(rest);
      service.process().destroy();
      // a job that ran before SIGTERM must finish
      assertThat(large).succeedsWithin(Duration.ofHours(1)).matches(a -> a.status() == 200);
      for (var client : senders) {
        assertThat(client).succeedsWithin(Duration.ofHours(1));
      }
      service.process().waitFor();
    }
    assertThat(outcomes).contains(Tally.OK).isSubsetOf(List.of(Tally.OK, "draining"));
    assertThat(service.process().exitValue()).isEqualTo(SIGTERM);
    assertThat(service.output()).contains("Draining: ").doesNotContain("ERROR");
  }
}
