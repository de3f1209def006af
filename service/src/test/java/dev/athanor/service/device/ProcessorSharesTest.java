package dev.athanor.service.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.athanor.service.schedule.TenantShares;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class ProcessorSharesTest {

  private static final int LARGE = ProcessorShares.FREE_BYTES + 1;

  private final AtomicLong clock = new AtomicLong();
  private final List<String> order = Collections.synchronizedList(new ArrayList<>());
  private final List<Thread> threads = new ArrayList<>();

  private ProcessorShares shares(double heavyWeight) {
    return new ProcessorShares(
        1,
        new TenantShares() {
          @Override
          public double share(String tenant) {
            return 1;
          }

          @Override
          public double weight(String tenant) {
            return tenant.equals("heavy") ? heavyWeight : 1;
          }
        },
        clock::get);
  }

  /** Starts a thread that uses the processor a number of times, and waits until it waits. */
  private void use(ProcessorShares shares, String tenant, int times) {
    int before = shares.waiting();
    threads.add(
        Thread.ofVirtual()
            .start(() -> {
              try (var _ = shares.open(tenant)) {
                for (int i = 0; i < times; i++) {
                  ProcessorShares.acquire(LARGE);
                  order.add(tenant);
                  clock.addAndGet(1000);
                  ProcessorShares.release();
                }
              }
            }));
    await().until(() -> shares.waiting() == before + 1);
  }

  private void join() throws InterruptedException {
    for (var thread : threads) {
      thread.join();
    }
  }

  @Test
  void tenantsTakeTurnsHoweverManyRequestsEachHas() throws Exception {
    var shares = shares(1);
    try (var _ = shares.open("first")) {
      ProcessorShares.acquire(LARGE);
      for (int i = 0; i < 6; i++) {
        use(shares, "flood", 1);
      }
      use(shares, "other", 1);
      clock.addAndGet(1000);
    }
    join();
    assertThat(order.subList(0, 2)).containsExactlyInAnyOrder("flood", "other");
    assertThat(order).hasSize(7);
  }

  @Test
  void tenantsGetTimeInProportionToTheirWeights() throws Exception {
    var shares = shares(3);
    try (var _ = shares.open("first")) {
      ProcessorShares.acquire(LARGE);
      for (int i = 0; i < 8; i++) {
        use(shares, "heavy", 1);
        use(shares, "light", 1);
      }
      clock.addAndGet(1000);
    }
    join();
    assertThat(order.subList(0, 8)).filteredOn("heavy"::equals).hasSize(6);
  }

  @Test
  void smallRequestsNeverWait() {
    var shares = shares(1);
    try (var _ = shares.open("large")) {
      ProcessorShares.acquire(LARGE);
      var small =
          Thread.ofVirtual()
              .start(() -> {
                try (var _ = shares.open("small")) {
                  ProcessorShares.acquire(ProcessorShares.FREE_BYTES);
                  order.add("small");
                }
              });
      await().until(() -> !small.isAlive());
      assertThat(order).containsExactly("small");
    }
  }

  @Test
  void waitingForOthersReleasesTheProcessor() throws Exception {
    var shares = shares(1);
    try (var _ = shares.open("first")) {
      ProcessorShares.acquire(LARGE);
      use(shares, "other", 1);
      ProcessorShares.release();
      join();
      assertThat(order).containsExactly("other");
    }
  }

  @Test
  void aThreadThatLeavesHoldsNoProcessor() throws Exception {
    var shares = shares(1);
    try (var _ = shares.open("first")) {
      ProcessorShares.acquire(LARGE);
      use(shares, "other", 1);
      ProcessorShares.leave();
      ProcessorShares.acquire(LARGE);
      join();
      assertThat(order).containsExactly("other");
    }
  }
}
