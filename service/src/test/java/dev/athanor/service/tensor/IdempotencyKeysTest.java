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

  private final IdempotencyKeys keys = new IdempotencyKeys(_ -> true);

  private final CompletableFuture<Creation> body = new CompletableFuture<>();

  /** A request whose body is under way until {@link #body} is complete. */
  private CompletableFuture<String> start() throws InterruptedException {
    var begun = new CountDownLatch(1);
    var first =
        CompletableFuture.supplyAsync(() ->
            keys.once(
                Tenant.LOCAL,
                "key",
                Deadline.none(),
                () -> {
                  begun.countDown();
                  return body.join();
                },
                () -> "body"));
    begun.await();
    return first;
  }

  private String once(Deadline deadline, Creation creation) {
    return keys.once(Tenant.LOCAL, "key", deadline, () -> creation, () -> "body");
  }

  @Test
  void whoWaitsForAnotherObeysItsOwnDeadline() throws InterruptedException {
    var first = start();

    assertThatExceptionOfType(Failure.DeadlineExceeded.class)
        .isThrownBy(() -> once(Deadline.in(20), new Creation("t_2", "body")))
        .withMessage("the call did not finish within its deadline of 20 ms; no result was stored");

    var patient =
        CompletableFuture.supplyAsync(
            () -> once(Deadline.in(600_000), new Creation("t_3", "body")));
    body.complete(new Creation("t_1", "body"));
    assertThat(first.join()).isEqualTo("t_1");
    assertThat(patient.join()).isEqualTo("t_1");
    assertThat(once(Deadline.in(1), new Creation("t_4", "body"))).isEqualTo("t_1");
  }

  @Test
  void whoIsInterruptedWaitsNoLonger() throws InterruptedException {
    var first = start();
    Thread.currentThread().interrupt();
    assertThatExceptionOfType(Failure.Refused.class)
        .isThrownBy(() -> once(Deadline.none(), new Creation("t_2", "body")))
        .withMessage("the client disconnected; nothing was stored");
    assertThat(Thread.interrupted()).isTrue();
    body.complete(new Creation("t_1", "body"));
    assertThat(first.join()).isEqualTo("t_1");
  }
}
