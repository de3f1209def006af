package dev.athanor.service.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.config.DeviceConfiguration.Housekeeping;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class HousekeepingTest {

  /**
   * A hanging sweep must not block the calling thread, which also reloads keys and certificates.
   */
  @Test
  void hangingSweepNeitherBlocksTheCallerNorOverlapsAnother() {
    var sweeps = new AtomicInteger();
    var end = new CountDownLatch(1);
    var housekeeping =
        new Housekeeping(() -> {
          sweeps.incrementAndGet();
          try {
            end.await();
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        });
    for (int i = 0; i < 3; i++) {
      housekeeping.sweep();
    }
    await().until(() -> sweeps.get() == 1);
    end.countDown();
    await()
        .until(() -> {
          housekeeping.sweep();
          return sweeps.get() > 1;
        });
    assertThat(end.getCount()).isZero();
  }
}
