package dev.athanor.testing;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

class HangDetectorTest {

  private final HangCriterion criterion =
      new HangCriterion(Duration.ofMinutes(30), Duration.ofMillis(100), 3);

  @Test
  void anIdleRunHangs() {
    assertThat(criterion.next(1, Duration.ofSeconds(5))).isNull();
    assertThat(criterion.next(1, Duration.ofMillis(5010))).isNull();
    assertThat(criterion.next(1, Duration.ofMillis(5020))).isNull();
    assertThat(criterion.next(1, Duration.ofMillis(5030)))
        .isEqualTo(
            "The test run hangs: it has waited for 3 intervals without using the processor.");
  }

  @Test
  void aSlowRunDoesNotHang() {
    for (int i = 0; i < 1000; i++) {
      assertThat(criterion.next(1, Duration.ofMillis(150L * i))).isNull();
    }
  }

  @Test
  void progressStartsAnew() {
    for (int i = 0; i < 10; i++) {
      assertThat(criterion.next(i, Duration.ofSeconds(5))).isNull();
      assertThat(criterion.next(i, Duration.ofSeconds(5))).isNull();
      assertThat(criterion.next(i, Duration.ofSeconds(5))).isNull();
    }
  }

  @Test
  void anEndlessLoopHangs() {
    assertThat(criterion.next(1, Duration.ofMinutes(1))).isNull();
    assertThat(criterion.next(1, Duration.ofMinutes(31))).isNull();
    assertThat(criterion.next(1, Duration.ofMinutes(32)))
        .isEqualTo(
            "The test run hangs: no test has started or ended in 30 minutes of processor time.");
  }

  @Test
  void anEndedChildProcessIsProgress() {
    assertThat(criterion.next(1, Duration.ofMinutes(20))).isNull();
    assertThat(criterion.next(1, Duration.ofMinutes(40))).isNull();
    assertThat(criterion.next(1, Duration.ofMinutes(10))).isNull();
    assertThat(criterion.next(1, Duration.ofMinutes(39))).isNull();
    assertThat(criterion.next(1, Duration.ofMinutes(41))).isNotNull();
  }

  @Test
  void stacksIncludeVirtualThreads() throws InterruptedException {
    var started = new CountDownLatch(1);
    var end = new CountDownLatch(1);
    var waiting =
        Thread.ofVirtual()
            .name("waits-for-the-test")
            .start(() -> {
              started.countDown();
              try {
                end.await();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    started.await();
    assertThat(HangDetector.stacks()).contains("waits-for-the-test");
    end.countDown();
    waiting.join();
  }
}
