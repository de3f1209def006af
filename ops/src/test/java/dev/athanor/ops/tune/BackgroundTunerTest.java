package dev.athanor.ops.tune;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Effort;
import dev.athanor.ops.linear.dense.Matmul;
import java.time.InstantSource;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

class BackgroundTunerTest {

  private static final Matmul MATMUL = new Matmul();

  private static Problem matmul(int m) {
    return Problem.parse(MATMUL, "a=f32[%d,4] b=f32[4,4]".formatted(m));
  }

  @Test
  void tunesEachBucketOnceWhileTheDeviceIsIdle() throws InterruptedException {
    var cache = TuningCache.inMemory();
    var idle = new AtomicBoolean();
    var asked = new CountDownLatch(1);
    var tuned = new LinkedBlockingQueue<Problem>();
    try (var device = new EmulatedDevice();
        var background =
            new BackgroundTuner(
                new Tuner(device, cache, new Effort(1, 1, 0), InstantSource.system()),
                cache,
                device.capability(),
                () -> {
                  asked.countDown();
                  return idle.get();
                },
                tuned::add)) {
      background.offer(matmul(8));
      background.offer(matmul(8));
      background.offer(matmul(2));
      asked.await();
      assertThat(tuned).as("while the device is busy").isEmpty();
      assertThat(cache.all()).isEmpty();
      idle.set(true);
      assertThat(tuned.take()).isEqualTo(matmul(8));
      assertThat(tuned.take()).isEqualTo(matmul(2));
      assertThat(cache.all()).hasSize(2);
      background.offer(matmul(8)); // has a winner
      background.offer(matmul(1));
      assertThat(tuned.take()).isEqualTo(matmul(1));
      assertThat(tuned).isEmpty();
    }
  }

  @Test
  void closesWhileWaiting() {
    var cache = TuningCache.inMemory();
    try (var device = new EmulatedDevice();
        var background =
            new BackgroundTuner(
                new Tuner(device, cache, new Effort(1, 1, 0), InstantSource.system()),
                cache,
                device.capability(),
                () -> false,
                _ -> {})) {
      background.offer(matmul(8));
    }
    assertThat(cache.all()).isEmpty();
  }
}
