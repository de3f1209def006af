package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.barrier;
import static dev.athanor.engine.lift.Gpu.sharedShorts;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.AsyncTiming;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.profile.Profiler;
import dev.athanor.engine.ptx.Target;
import dev.athanor.testing.TestTier;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Products on tensor cores and asynchronous copies, as plain Java and on the emulator. */
class WarpMatrixTest {
  private static final int DEPTH = 16;
  private static final Dim3 ONE = Dim3.of(1);

  /** {@code c = a · b + a · b'}, where the columns of b' are the rows of {@code bTransposed}. */
  @GpuKernel(blockSize = 32)
  static void products(short[] a, short[] b, short[] bTransposed, float[] c, float[] d) {
    short[] as = sharedShorts(16 * DEPTH);
    short[] bs = sharedShorts(DEPTH * 8);
    short[] ts = sharedShorts(8 * DEPTH);
    for (int i = threadIdxX(); i < 16 * DEPTH; i += 32) {
      as[i] = a[i];
    }
    for (int i = threadIdxX(); i < 8 * DEPTH; i += 32) {
      bs[i] = b[i];
      ts[i] = bTransposed[i];
    }
    barrier();
    var x = WarpMatrix.loadA(as, 0, DEPTH);
    var y = WarpMatrix.loadB(bs, 0, 8);
    var z = WarpMatrix.loadTransposedB(ts, 0, DEPTH);
    var half = WarpMatrix.multiplyHalf(x, y, WarpMatrix.zero());
    WarpMatrix.store(WarpMatrix.multiplyHalf(x, z, half), c, 0, 8);
    var wide = WarpMatrix.multiplyBfloat16(x, y, WarpMatrix.zero());
    WarpMatrix.store(WarpMatrix.multiplyBfloat16(x, z, wide), d, 0, 8);
  }

  private static short[] elements(int n, IntFunction<Short> of) {
    var all = new short[n];
    for (int i = 0; i < n; i++) {
      all[i] = of.apply(i);
    }
    return all;
  }

  private static short half(int n) {
    return Float.floatToFloat16(n);
  }

  private static short bfloat16(int n) {
    return (short) (Float.floatToRawIntBits(n) >>> 16);
  }

  private static double[] product(int[] a, int[] b, int[] transposed) {
    var c = new double[16 * 8];
    for (int i = 0; i < 16; i++) {
      for (int j = 0; j < 8; j++) {
        for (int k = 0; k < DEPTH; k++) {
          c[i * 8 + j] += a[i * DEPTH + k] * (double) b[k * 8 + j];
          c[i * 8 + j] += a[i * DEPTH + k] * (double) transposed[j * DEPTH + k];
        }
      }
    }
    return c;
  }

  /** Sums of small integers are exact, so that all ways to compute them agree in every bit. */
  @ParameterizedTest
  @ValueSource(strings = {"sm_80", "sm_89", "sm_90a"})
  void multipliesIntegersExactly(String target) {
    long seed = TestTier.seed();
    var random = new Random(seed);
    var a = random.ints(16 * DEPTH, -9, 10).toArray();
    var b = random.ints(DEPTH * 8, -9, 10).toArray();
    var transposed = random.ints(8 * DEPTH, -9, 10).toArray();
    var expected = product(a, b, transposed);
    var kernel = Kernels.of(WarpMatrixTest::products);
    var options = EmulatorOptions.DEFAULT.withTarget(Target.of(target)).withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options)) {
      for (boolean half : new boolean[] {true, false}) {
        IntFunction<Short> of = half ? WarpMatrixTest::half : WarpMatrixTest::bfloat16;
        Object[] arguments = {
          elements(a.length, i -> of.apply(a[i])),
          elements(b.length, i -> of.apply(b[i])),
          elements(transposed.length, i -> of.apply(transposed[i])),
          new float[16 * 8],
          new float[16 * 8]
        };
        for (boolean inJava : new boolean[] {true, false}) {
          if (inJava) {
            kernel.inJava().launch(1, arguments);
          } else {
            kernel.on(device).launch(1, arguments);
          }
          var actual = (float[]) arguments[half ? 3 : 4];
          for (int i = 0; i < actual.length; i++) {
            assertThat(actual[i])
                .as("seed %d, half %s, in Java %s, at %d", seed, half, inJava, i)
                .isEqualTo((float) expected[i]);
          }
        }
      }
    }
  }

  @Test
  void emitsTheInstructionsOfTensorCores() {
    assertThat(Kernels.of(WarpMatrixTest::products).module(false).toString())
        .contains(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
            "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16",
            "ldmatrix.sync.aligned.m8n8.x2.shared.b16");
  }

  @Test
  void loadsPaddedRowsWithoutBankConflicts() {
    var profiler = new Profiler();
    var options = EmulatorOptions.DEFAULT.withObservers(List.of(profiler));
    try (var device = new EmulatedDevice(options)) {
      Kernels.of(SampleKernels::tensorProduct)
          .on(device)
          .launch(1, new short[32 * 64], new short[64 * 32], new float[32 * 32], 32, 64);
    }
    var loads =
        profiler.profiles().getFirst().rows().stream()
            .filter(row -> row.instruction().opcode().startsWith("ldmatrix"))
            .toList();
    assertThat(loads).isNotEmpty();
    assertThat(loads).allSatisfy(row -> assertThat(row.shared().conflicts()).isZero());
  }

  @GpuKernel(blockSize = 64)
  static void copies(
      byte[] bytes,
      short[] shorts,
      int[] ints,
      long[] longs,
      float[] floats,
      double[] doubles,
      long[] sums) {
    byte[] ofBytes = Gpu.sharedBytes(64 * 16);
    short[] ofShorts = sharedShorts(64 * 8);
    int[] ofInts = Gpu.sharedInts(64 * 4);
    long[] ofLongs = Gpu.sharedLongs(64 * 2);
    float[] ofFloats = Gpu.sharedFloats(64 * 4);
    double[] ofDoubles = Gpu.sharedDoubles(64 * 2);
    int i = threadIdxX();
    AsyncCopy.copy(ofBytes, 16 * i, bytes, 16 * i);
    AsyncCopy.copy(ofShorts, 8 * i, shorts, 8 * i);
    AsyncCopy.copy(ofInts, 4 * i, ints, 4 * i);
    AsyncCopy.copy(ofLongs, 2 * i, longs, 2 * i);
    AsyncCopy.copy(ofFloats, 4 * i, floats, 4 * i);
    AsyncCopy.copy(ofDoubles, 2 * i, doubles, 2 * i);
    AsyncCopy.commit();
    AsyncCopy.await(0);
    barrier();
    int other = 63 - i;
    sums[i] =
        ofBytes[16 * other + 15]
            + ofShorts[8 * other + 7]
            + ofInts[4 * other + 3]
            + ofLongs[2 * other + 1]
            + (long) ofFloats[4 * other + 3]
            + (long) ofDoubles[2 * other + 1];
  }

  @Test
  void copiesElementsOfAllTypes() {
    var bytes = new byte[64 * 16];
    var shorts = new short[64 * 8];
    var ints = new int[64 * 4];
    var longs = new long[64 * 2];
    var floats = new float[64 * 4];
    var doubles = new double[64 * 2];
    for (int i = 0; i < 64; i++) {
      bytes[16 * i + 15] = (byte) (i + 1);
      shorts[8 * i + 7] = (short) (i * 100);
      ints[4 * i + 3] = i * 10_000;
      longs[2 * i + 1] = i * 1_000_000L;
      floats[4 * i + 3] = i * 1_000_000_000f;
      doubles[2 * i + 1] = i * 1e12;
    }
    var kernel = Kernels.of(WarpMatrixTest::copies);
    var expected = new long[64];
    kernel.inJava().launch(1, bytes, shorts, ints, longs, floats, doubles, expected);
    for (var timing : AsyncTiming.values()) {
      var actual = new long[64];
      var options = EmulatorOptions.DEFAULT.withAsyncTiming(timing).withSanitize(Sanitize.FULL);
      try (var device = new EmulatedDevice(options)) {
        kernel.on(device).launch(1, bytes, shorts, ints, longs, floats, doubles, actual);
      }
      assertThat(actual).as("%s", timing).isEqualTo(expected);
    }
    assertThat(kernel.parameters().stream().filter(KernelParameter::isWritten))
        .extracting(KernelParameter::name)
        .containsExactly("sums");
  }

  @GpuKernel(blockSize = 32)
  static void doesNotWait(float[] x, float[] y) {
    float[] shared = Gpu.sharedFloats(128);
    AsyncCopy.copy(shared, 4 * threadIdxX(), x, 4 * threadIdxX());
    AsyncCopy.commit();
    barrier();
    y[threadIdxX()] = shared[threadIdxX()];
  }

  @Test
  void theSanitizerReportsAMissingWait() {
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      var kernel = Kernels.of(WarpMatrixTest::doesNotWait).on(device);
      var fault =
          catchThrowableOfType(
              DeviceException.class, () -> kernel.launch(1, new float[128], new float[32]));
      assertThat(fault).hasMessageContaining("WarpMatrixTest.java");
    }
  }

  @GpuKernel(blockSize = 32)
  static void copiesBeyondTheEnd(float[] x, float[] y) {
    float[] shared = Gpu.sharedFloats(128);
    AsyncCopy.copy(shared, 4 * threadIdxX(), x, 4 * threadIdxX());
    AsyncCopy.commit();
    AsyncCopy.await(0);
    y[threadIdxX()] = shared[4 * threadIdxX()];
  }

  @Test
  void checksTheIndicesOfCopies() {
    try (var device = new EmulatedDevice()) {
      var kernel = Kernels.of(WarpMatrixTest::copiesBeyondTheEnd).on(device).checked(true);
      assertThatThrownBy(() -> kernel.launch(ONE, new float[100], new float[32]))
          .isInstanceOf(CheckFailedException.class)
          .hasMessageContaining("are out of bounds for `x`, which has 100 elements");
    }
  }
}
