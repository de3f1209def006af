package dev.athanor.service.failure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MinimumRateTest {

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final MinimumRate minimumRate = new MinimumRate(Duration.ofSeconds(20));

  @Test
  void abortsTricklingClientsAfterTwiceTheTimeout() {
    for (int i = 0; i < 40; i++) {
      minimumRate.received(1, SECOND);
    }
    var failure = catchThrowableOfType(Failure.class, () -> minimumRate.received(1, SECOND));
    assertThat(failure.code()).isEqualTo(Code.DEADLINE_EXCEEDED);
    assertThat(failure)
        .hasMessage("The client sent only 41 bytes in 41000 ms; the request was aborted");
  }

  @Test
  void acceptsSlowSteadyClients() {
    for (int i = 0; i < 100_000; i++) {
      minimumRate.received(16 << 10, 20 * SECOND);
    }
  }

  @Test
  void allowsPausesAfterFastTransfers() {
    minimumRate.received(1 << 20, SECOND);
    minimumRate.received(1, 19 * SECOND);
    minimumRate.received(0, 19 * SECOND);
  }
}
