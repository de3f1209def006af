package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.Arrays;
import java.util.Random;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** Atomic operations in plain Java and on the emulator. */
class AtomicsTest {

  private static final int THREADS = 96;

  @GpuKernel(blockSize = THREADS)
  static void floats(float[] x, float[] extremes, double[] doubles, float[] last) {
    float[] shared = Gpu.sharedFloats(2);
    if (threadIdxX() == 0) {
      shared[0] = 100;
      shared[1] = -0f;
    }
    Gpu.barrier();
    float value = x[threadIdxX()];
    Gpu.atomicMin(shared, 0, value);
    Gpu.atomicMax(shared, 1, Math.min(value, 0f));
    Gpu.atomicMax(extremes, 0, value);
    Gpu.atomicMin(extremes, 1, threadIdxX() == 7 ? Float.NaN : value);
    Gpu.atomicMin(doubles, 0, value * 3.0);
    Gpu.atomicMax(doubles, 1, value * 3.0);
    Gpu.atomicCompareAndSet(last, 0, 0f, 5f); // -0 is another number
    Gpu.atomicCompareAndSet(last, 1, -0f, 6f);
    Gpu.atomicExchange(last, 2, 7f);
    Gpu.atomicExchange(doubles, 2, 8);
    Gpu.atomicCompareAndSet(doubles, 2, 8, 9);
    Gpu.barrier();
    if (threadIdxX() == 0) {
      extremes[2] = shared[0];
      extremes[3] = shared[1];
    }
  }

  @GpuKernel(blockSize = THREADS)
  static void counters(int[] counts, int[] seen) {
    Gpu.atomicAdd(seen, Gpu.atomicIncrement(counts, 0, 6), 1);
    Gpu.atomicDecrement(counts, 1, 6);
    Gpu.atomicIncrement(counts, 2, -2); // unsigned: 2^32 - 2
  }

  /** Each thread waits for the one before it, and reads plainly what that one wrote plainly. */
  @GpuKernel(blockSize = THREADS)
  static void chain(int[] turns, double[] sums, long[] numbers, float[] last) {
    int[] shared = Gpu.sharedInts(THREADS);
    int i = threadIdxX();
    Gpu.storeRelaxed(shared, i, 3 * i);
    Gpu.storeRelaxed(sums, i, 0.5);
    Gpu.barrier();
    boolean waits = true;
    while (waits) {
      if (Gpu.loadAcquire(turns, 0) == i) {
        sums[i] += i == 0 ? 0 : sums[i - 1];
        Gpu.storeRelaxed(numbers, i, Gpu.loadRelaxed(shared, i) + 1L);
        Gpu.storeRelaxed(last, 0, Gpu.loadRelaxed(last, 0) + i);
        Gpu.storeRelease(turns, 0, i + 1);
        waits = false;
      }
    }
  }

  @Test
  void whatAThreadReleasesOthersAcquire() {
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      checkChain(Kernels.of(AtomicsTest.class, "chain").on(device)::launch);
      assertThat(Kernels.of(AtomicsTest.class, "chain").module(false).toString())
          .contains("ld.acquire.gpu.global.s32", "ld.relaxed.cta.shared.s32")
          .contains("st.release.gpu.global.s32", "st.relaxed.gpu.global.f64");
    }
    checkChain(Kernels.of(AtomicsTest.class, "chain").inJava()::launch);
  }

  private static void checkChain(BiConsumer<Integer, Object[]> launch) {
    var sums = new double[THREADS];
    var numbers = new long[THREADS];
    var last = new float[1];
    launch.accept(1, new Object[] {new int[1], sums, numbers, last});
    assertThat(sums[THREADS - 1]).isEqualTo(THREADS / 2.0);
    assertThat(numbers).startsWith(1, 4, 7).endsWith(3 * THREADS - 2);
    assertThat(last).containsExactly(THREADS * (THREADS - 1) / 2f);
  }

  @Test
  void ofFloatsEqualPlainJava() {
    var random = new Random(3);
    var x = new float[THREADS];
    for (int i = 0; i < THREADS; i++) {
      x[i] = i == 40 ? 0f : i == 41 ? -0f : (float) random.nextGaussian();
    }
    var expected = results(x, null);
    float least = Float.POSITIVE_INFINITY;
    float most = Float.NEGATIVE_INFINITY;
    for (float each : x) {
      least = Math.min(least, each);
      most = Math.max(most, each);
    }
    assertThat((float[]) expected[0]).containsExactly(most, Float.NaN, least, 0f);
    assertThat((double[]) expected[1]).containsExactly(least * 3.0, most * 3.0, 9);
    assertThat((float[]) expected[2]).containsExactly(-0f, 6f, 7f);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      assertThat(Arrays.deepEquals(results(x, device), expected)).isTrue();
    }
  }

  private static Object[] results(
      float[] x, @org.jspecify.annotations.Nullable EmulatedDevice device) {
    var extremes = new float[] {-9, 9, 0, 0};
    var doubles = new double[] {90, -90, 1};
    var last = new float[] {-0f, -0f, 0};
    if (device == null) {
      new InJava(AtomicsTest.class)
          .run("floats", Dim3.of(1), Dim3.of(THREADS), x, extremes, doubles, last);
    } else {
      Kernels.of(AtomicsTest.class, "floats").on(device).launch(1, x, extremes, doubles, last);
    }
    return new Object[] {extremes, doubles, last};
  }

  @Test
  void countersWrapAtTheirLimits() {
    var counts = new int[] {0, 3, -4};
    var seen = new int[7];
    new InJava(AtomicsTest.class).run("counters", Dim3.of(1), Dim3.of(THREADS), counts, seen);
    assertThat(counts).containsExactly(THREADS % 7, (3 + 7 * THREADS - THREADS) % 7, THREADS - 3);
    assertThat(seen).contains(THREADS / 7, THREADS / 7 + 1).doesNotContain(0);
    var found = new int[] {0, 3, -4};
    var seenOnDevice = new int[7];
    try (var device = new EmulatedDevice()) {
      Kernels.of(AtomicsTest.class, "counters").on(device).launch(1, found, seenOnDevice);
    }
    assertThat(found).isEqualTo(counts);
    assertThat(seenOnDevice).isEqualTo(seen);
  }

  @Test
  void aCheckNamesTheCaller() {
    try (var device = new EmulatedDevice()) {
      var kernel = Kernels.of(AtomicsTest.class, "floats").on(device);
      assertThatThrownBy(
              () -> kernel.launch(1, new float[THREADS], new float[1], new double[3], new float[3]))
          .isInstanceOf(CheckFailedException.class)
          .hasMessageContaining("AtomicsTest.java")
          .hasMessageContaining("`extremes`, which has 1 element");
    }
  }
}
