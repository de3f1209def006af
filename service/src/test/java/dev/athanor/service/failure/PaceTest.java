package dev.athanor.service.failure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.service.failure.Failure.Code;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class PaceTest {

  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

  private final Pace pace = new Pace(Duration.ofSeconds(20));

  @Test
  void whoeverTricklesIsWaitedForTwiceAsLong() {
    for (int i = 0; i < 40; i++) {
      pace.received(1, SECOND);
    }
    var failure = catchThrowableOfType(Failure.class, () -> pace.received(1, SECOND));
    assertThat(failure.code()).isEqualTo(Code.DEADLINE_EXCEEDED);
    assertThat(failure)
        .hasMessage("The client sent only 41 bytes in 41000 ms; the request was aborted");
  }

  @Test
  void whoeverIsSlowAndSteadyIsNotGivenUp() {
    for (int i = 0; i < 100_000; i++) {
      pace.received(16 << 10, 20 * SECOND);
    }
  }

  @Test
  void whatCameFastAtFirstMayPauseLater() {
    pace.received(1 << 20, SECOND);
    pace.received(1, 19 * SECOND);
    pace.received(0, 19 * SECOND);
  }
}
