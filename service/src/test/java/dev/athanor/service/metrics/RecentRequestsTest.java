package dev.athanor.service.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.service.TestClock;
import dev.athanor.service.metrics.Metrics.Phase;
import dev.athanor.service.metrics.RecentRequests.Failed;
import dev.athanor.service.metrics.RecentRequests.Run;
import dev.athanor.service.tensor.Tenant;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RecentRequestsTest {

  private final TestClock clock = new TestClock();
  private final RecentRequests recent = new RecentRequests(clock);

  private void ran(int millis) {
    recent.ran(Tenant.LOCAL, "matmul", "fake:0", phase -> phase == Phase.TOTAL ? 1000 * millis : 0);
  }

  private List<Integer> slowest() {
    return recent.slowest().stream().map(Run::total).map(total -> (int) (total / 1000)).toList();
  }

  @Test
  void returnsTheSlowestOfTheLastMinutes() {
    ran(500);
    clock.advance(Duration.ofMinutes(1));
    IntStream.rangeClosed(1, 100).forEach(this::ran);
    IntStream.rangeClosed(1, 100).map(i -> -i).map(i -> 101 + i).forEach(this::ran);
    assertThat(slowest()).containsExactly(500, 100, 100, 99, 99, 98, 98, 97, 97, 96);

    clock.advance(Duration.ofMinutes(RecentRequests.MINUTES - 1));
    ran(7);
    assertThat(slowest()).hasSize(RecentRequests.SLOWEST).startsWith(100, 100).doesNotContain(500);

    clock.advance(Duration.ofMinutes(1));
    assertThat(slowest()).containsExactly(7);
    clock.advance(Duration.ofMinutes(RecentRequests.MINUTES));
    assertThat(slowest()).isEmpty();
  }

  @Test
  void keepsTheLastFailuresAndShortensTheirMessages() {
    for (int i = 0; i < 2 * RecentRequests.FAILURES; i++) {
      recent.failed(Tenant.LOCAL, "matmul", "internal", i + "x".repeat(10_000));
    }
    assertThat(recent.failures())
        .hasSize(RecentRequests.FAILURES)
        .extracting(Failed::detail)
        .startsWith("99" + "x".repeat(298) + "…")
        .allMatch(detail -> detail.length() == 301);
  }
}
