package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HostMemoryPoolTest {

  private final HostMemoryPool blocks =
      new HostMemoryPool(1024, bytes -> HostMemory.pageable(bytes, _ -> {}));

  private static boolean isGone(HostMemory block) {
    return !block.segment().scope().isAlive();
  }

  @Test
  void reusesTheLastReleasedBlock() {
    var one = blocks.acquire(100);
    var two = blocks.acquire(256);
    assertThat(one.segment().byteSize()).isEqualTo(256);
    blocks.release(one);
    blocks.release(two);
    assertThat(blocks.acquire(257)).isNotIn(one, two);
    assertThat(blocks.acquire(1)).isSameAs(two);
    assertThat(blocks.acquire(1)).isSameAs(one);
    assertThat(blocks.acquire(1)).isNotIn(one, two);
  }

  @Test
  void evictsTheLeastRecentlyUsedBlocks() {
    var small = blocks.acquire(256);
    var other = blocks.acquire(256);
    var large = blocks.acquire(512);
    var last = blocks.acquire(512);
    blocks.release(small);
    blocks.release(other);
    blocks.release(large);
    assertThat(isGone(small)).isFalse();
    blocks.release(last);
    assertThat(isGone(small)).isTrue();
    assertThat(isGone(other)).isTrue();
    assertThat(isGone(large)).isFalse();
    assertThat(blocks.acquire(512)).isSameAs(last);
  }

  @Test
  void closesBlocksLargerThanThePool() {
    var kept = blocks.acquire(1024);
    var huge = blocks.acquire(1025);
    blocks.release(kept);
    blocks.release(huge);
    assertThat(isGone(huge)).isTrue();
    assertThat(isGone(kept)).isFalse();
  }

  @Test
  void keepsNothingOnceClosed() {
    var idle = blocks.acquire(256);
    var used = blocks.acquire(256);
    blocks.release(idle);
    blocks.close();
    assertThat(isGone(idle)).isTrue();
    assertThat(isGone(used)).isFalse();
    blocks.release(used);
    assertThat(isGone(used)).isTrue();
  }

  @Test
  void allocationsDoNotBlockEachOther() throws Exception {
    var allocating = new CountDownLatch(1);
    var mayGoOn = new CountDownLatch(1);
    var slow =
        new HostMemoryPool(
            1024,
            bytes -> {
              if (bytes == 512) {
                allocating.countDown();
                awaitOrFail(mayGoOn);
              }
              return HostMemory.pageable(bytes, _ -> {});
            });
    var kept = slow.acquire(256);
    slow.release(kept);
    try (var other = Executors.newSingleThreadExecutor()) {
      var waits = other.submit(() -> slow.acquire(512));
      awaitOrFail(allocating);
      assertThat(slow.acquire(256)).isSameAs(kept);
      slow.release(kept);
      mayGoOn.countDown();
      waits.get().close();
    }
    slow.close();
    assertThat(isGone(kept)).isTrue();
  }

  private static void awaitOrFail(CountDownLatch latch) {
    try {
      assertThat(latch.await(1, TimeUnit.HOURS)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
