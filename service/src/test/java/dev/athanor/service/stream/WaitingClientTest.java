package dev.athanor.service.stream;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WaitingClientTest {

  private final WaitingClient client = new WaitingClient();

  private boolean hasGone(long begun, long millis) {
    return client.hasGone(begun + TimeUnit.MILLISECONDS.toNanos(millis));
  }

  @Test
  void isCheckedOnlyWhileItWaits() {
    long now = System.nanoTime();
    assertThat(hasGone(now, 5000)).isFalse();
    client.enter(() -> true);
    assertThat(hasGone(System.nanoTime(), 20)).isTrue();
    client.leave();
    assertThat(hasGone(System.nanoTime(), 5000)).isFalse();
  }

  @Test
  void isCheckedEverMoreRarely() {
    long before = System.nanoTime();
    client.enter(() -> true);
    assertThat(hasGone(before, 19)).isFalse();
    long first = System.nanoTime();
    assertThat(hasGone(first, 20)).isTrue();
    assertThat(hasGone(first, 59)).isFalse();
    assertThat(hasGone(first, 60)).isTrue();
    long last = first;
    for (int i = 0; i < 20; i++) {
      last += TimeUnit.SECONDS.toNanos(1);
      client.hasGone(last);
    }
    assertThat(hasGone(last, 999)).isFalse();
    assertThat(hasGone(last, 1000)).isTrue();
  }
}
