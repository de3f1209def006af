package dev.athanor.engine.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class HostBlocksTest {

  private final HostBlocks blocks =
      new HostBlocks(1024, bytes -> HostMemory.pageable(bytes, _ -> {}));

  private static boolean isGone(HostMemory block) {
    return !block.segment().scope().isAlive();
  }

  @Test
  void theNextOfASizeGetsWhatWasGivenBackLast() {
    var one = blocks.take(100);
    var two = blocks.take(256);
    assertThat(one.segment().byteSize()).isEqualTo(256);
    blocks.giveBack(one);
    blocks.giveBack(two);
    assertThat(blocks.take(257)).isNotIn(one, two);
    assertThat(blocks.take(1)).isSameAs(two);
    assertThat(blocks.take(1)).isSameAs(one);
    assertThat(blocks.take(1)).isNotIn(one, two);
  }

  @Test
  void ofTooMuchTheOldestOfTheSizeNotUsedForLongestGoes() {
    var small = blocks.take(256);
    var other = blocks.take(256);
    var large = blocks.take(512);
    var last = blocks.take(512);
    blocks.giveBack(small);
    blocks.giveBack(other);
    blocks.giveBack(large);
    assertThat(isGone(small)).isFalse();
    blocks.giveBack(last);
    assertThat(isGone(small)).isTrue();
    assertThat(isGone(other)).isTrue();
    assertThat(isGone(large)).isFalse();
    assertThat(blocks.take(512)).isSameAs(last);
  }

  @Test
  void whatIsLargerThanAllThatMayBeKeptGoesAtOnce() {
    var kept = blocks.take(1024);
    var huge = blocks.take(1025);
    blocks.giveBack(kept);
    blocks.giveBack(huge);
    assertThat(isGone(huge)).isTrue();
    assertThat(isGone(kept)).isFalse();
  }

  @Test
  void nothingIsKeptOnceItIsClosed() {
    var idle = blocks.take(256);
    var used = blocks.take(256);
    blocks.giveBack(idle);
    blocks.close();
    assertThat(isGone(idle)).isTrue();
    assertThat(isGone(used)).isFalse();
    blocks.giveBack(used);
    assertThat(isGone(used)).isTrue();
  }

  @Test
  void nobodyWaitsWhileAnotherAllocates() throws Exception {
    var allocating = new CountDownLatch(1);
    var mayGoOn = new CountDownLatch(1);
    var slow =
        new HostBlocks(
            1024,
            bytes -> {
              if (bytes == 512) {
                allocating.countDown();
                awaitOrFail(mayGoOn);
              }
              return HostMemory.pageable(bytes, _ -> {});
            });
    var kept = slow.take(256);
    slow.giveBack(kept);
    try (var other = Executors.newSingleThreadExecutor()) {
      var waits = other.submit(() -> slow.take(512));
      awaitOrFail(allocating);
      assertThat(slow.take(256)).isSameAs(kept);
      slow.giveBack(kept);
      mayGoOn.countDown();
      waits.get().close();
    }
    slow.close();
    assertThat(isGone(kept)).isTrue();
  }

  private static void awaitOrFail(CountDownLatch latch) {
    try {
      assertThat(latch.await(1, TimeUnit.MINUTES)).isTrue();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
