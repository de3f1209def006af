package dev.athanor.service.tensor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.tensor.IdempotencyKeys.Creation;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class IdempotencyKeysTest {

  private final IdempotencyKeys<String> keys = new IdempotencyKeys<>(_ -> true);

  private final CompletableFuture<Creation<String>> body = new CompletableFuture<>();

  /** Starts a request whose body is pending until {@link #body} completes. */
  private CompletableFuture<String> start() throws InterruptedException {
    var started = new CountDownLatch(1);
    var first =
        CompletableFuture.supplyAsync(() ->
            keys.once(
                Tenant.LOCAL,
                "field",
                "key",
                Deadline.none(),
                () -> {
                  started.countDown();
                  return body.join();
                },
                () -> "body"));
    started.await();
    return first;
  }

  private static Creation<String> creation(String handle) {
    return new Creation<>(handle, "body");
  }

  private String once(Deadline deadline, Creation<String> creation) {
    return keys.once(Tenant.LOCAL, "field", "key", deadline, () -> creation, () -> "body");
  }

  @Test
  void waitingRequestsObeyTheirOwnDeadline() throws InterruptedException {
    var first = start();

    assertThatExceptionOfType(Failure.DeadlineExceeded.class)
        .isThrownBy(() -> once(Deadline.in(20), creation("t_2")))
        .withMessage("the call did not finish within its deadline of 20 ms; no result was stored");

    var patient = CompletableFuture.supplyAsync(() -> once(Deadline.in(600_000), creation("t_3")));
    body.complete(creation("t_1"));
    assertThat(first.join()).isEqualTo("t_1");
    assertThat(patient.join()).isEqualTo("t_1");
    assertThat(once(Deadline.in(1), creation("t_4"))).isEqualTo("t_1");
  }

  @Test
  void interruptionEndsTheWait() throws InterruptedException {
    var first = start();
    Thread.currentThread().interrupt();
    assertThatExceptionOfType(Failure.Refused.class)
        .isThrownBy(() -> once(Deadline.none(), creation("t_2")))
        .withMessage("the client disconnected; nothing was stored");
    assertThat(Thread.interrupted()).isTrue();
    body.complete(creation("t_1"));
    assertThat(first.join()).isEqualTo("t_1");
  }
}
