package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.profile.Profiler;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.Array;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Loads and stores of neighboring elements become vector accesses where they are aligned. */
class VectorAccessesTest {
  private static final int THREADS = 32;

  @GpuKernel(blockSize = THREADS)
  static void narrow(byte[] bytes, short[] shorts, char[] chars, boolean[] flags, int[] out) {
    int i = threadIdxX();
    int sum = bytes[4 * i] + 3 * bytes[4 * i + 1] + 5 * bytes[4 * i + 2] + 7 * bytes[4 * i + 3];
    sum += 11 * shorts[4 * i + 3] + 13 * shorts[4 * i + 2] + 17 * shorts[4 * i + 1] + shorts[4 * i];
    sum += 19 * chars[2 * i] + 23 * chars[2 * i + 1];
    out[i] = flags[2 * i] != flags[2 * i + 1] ? sum : -sum;
  }

  @GpuKernel(blockSize = THREADS)
  static void wide(long[] longs, double[] doubles, double[] out) {
    int i = threadIdxX();
    out[i] = longs[2 * i] - 3 * longs[2 * i + 1] + doubles[i * 4 + 2] / doubles[i * 4 + 3];
  }

  @GpuKernel(blockSize = THREADS)
  static void segment(MemorySegment floats, float[] out) {
    long i = 4L * threadIdxX();
    out[threadIdxX()] =
        floats.getAtIndex(ValueLayout.JAVA_FLOAT, i)
            + 2 * floats.getAtIndex(ValueLayout.JAVA_FLOAT, i + 1)
            + 3 * floats.getAtIndex(ValueLayout.JAVA_FLOAT, i + 2)
            + 4 * floats.getAtIndex(ValueLayout.JAVA_FLOAT, i + 3);
  }

  /** The last store changes what the next thread would have loaded before. */
  @GpuKernel(blockSize = THREADS)
  static void storesBetween(int[] a, int[] out) {
    int i = threadIdxX();
    int first = a[2 * i];
    a[2 * i + 1] = -first;
    out[i] = first + a[2 * i + 1];
  }

  @GpuKernel(blockSize = THREADS)
  static void stores(
      byte[] bytes, short[] shorts, float[] floats, double[] doubles, boolean[] flags) {
    int i = threadIdxX();
    bytes[4 * i] = (byte) i;
    bytes[4 * i + 1] = (byte) (3 * i);
    bytes[4 * i + 2] = (byte) (5 * i);
    bytes[4 * i + 3] = -1;
    shorts[2 * i + 1] = (short) (i * 12_345);
    shorts[2 * i] = 7;
    floats[4 * i] = i;
    floats[4 * i + 1] = 0;
    floats[4 * i + 2] = 1f / (i + 1);
    floats[4 * i + 3] = -i;
    doubles[2 * i] = i / 3.0;
    doubles[2 * i + 1] = i / 7.0;
    flags[2 * i] = i % 3 == 0;
    flags[2 * i + 1] = true;
  }

  private static long count(JavaKernel kernel, String pattern) {
    return Pattern.compile(pattern).matcher(kernel.module(false).toString()).results().count();
  }

  private static void assertSame(JavaKernel kernel, int out, Object... arguments) {
    kernel.inJava().launch(1, arguments);
    var expected = copy(arguments[out]);
    arguments[out] =
        Array.newInstance(expected.getClass().getComponentType(), Array.getLength(expected));
    try (var device = new EmulatedDevice()) {
      kernel.on(device).checked(false).launch(Dim3.of(1), arguments);
    }
    assertThat(arguments[out]).isEqualTo(expected);
  }

  private static Object copy(Object array) {
    return switch (array) {
      case byte[] a -> a.clone();
      case boolean[] a -> a.clone();
      case short[] a -> a.clone();
      case int[] a -> a.clone();
      case float[] a -> a.clone();
      case double[] a -> a.clone();
      default -> throw new IllegalArgumentException(array.getClass().getName());
    };
  }

  @Test
  void loadsNarrowElements() {
    var bytes = new byte[4 * THREADS];
    var shorts = new short[4 * THREADS];
    var chars = new char[2 * THREADS];
    var flags = new boolean[2 * THREADS];
    for (int i = 0; i < 4 * THREADS; i++) {
      bytes[i] = (byte) (i * 37);
      shorts[i] = (short) (i * 12_345);
      chars[i / 2] = (char) (i * 54_321);
      flags[i / 2] = i % 3 == 0;
    }
    var kernel = Kernels.of(VectorAccessesTest::narrow);
    assertThat(count(kernel, "ld\\.global\\.nc\\.v4\\.s8 ")).isOne();
    assertThat(count(kernel, "ld\\.global\\.nc\\.v4\\.s16 ")).isOne();
    assertThat(count(kernel, "ld\\.global\\.nc\\.v2\\.u16 ")).isOne();
    assertThat(count(kernel, "ld\\.global\\.nc\\.v2\\.s8 ")).isOne();
    assertSame(kernel, 4, bytes, shorts, chars, flags, new int[THREADS]);
  }

  @Test
  void loadsWideElements() {
    var longs = IntStream.range(0, 2 * THREADS).mapToLong(i -> i * 1_000_000_007L).toArray();
    var doubles = IntStream.range(0, 4 * THREADS).mapToDouble(i -> i / 7.0).toArray();
    var kernel = Kernels.of(VectorAccessesTest::wide);
    assertThat(count(kernel, "ld\\.global\\.nc\\.v2\\.s64 ")).isOne();
    assertThat(count(kernel, "ld\\.global\\.nc\\.v2\\.f64 ")).isOne();
    assertSame(kernel, 2, longs, doubles, new double[THREADS]);
  }

  @Test
  void loadsElementsOfSegments() {
    var kernel = Kernels.of(VectorAccessesTest::segment);
    assertThat(count(kernel, "ld\\.global\\.nc\\.v4\\.f32 ")).isOne();
    try (var arena = Arena.ofShared()) {
      // a slice that is not aligned on the host: its copy on the device is
      var slice = arena.allocate(16 * THREADS + 4, 16).asSlice(4);
      IntStream.range(0, 4 * THREADS)
          .forEach(i -> slice.setAtIndex(ValueLayout.JAVA_FLOAT, i, i * 0.5f));
      assertSame(kernel, 1, slice, new float[THREADS]);
    }
  }

  @Test
  void storesElements() {
    var kernel = Kernels.of(VectorAccessesTest::stores);
    assertThat(count(kernel, "st\\.global\\.v4\\.s8 ")).isOne();
    assertThat(count(kernel, "st\\.global\\.v2\\.s16 ")).isOne();
    assertThat(count(kernel, "st\\.global\\.v4\\.f32 ")).isOne();
    assertThat(count(kernel, "st\\.global\\.v2\\.f64 ")).isOne();
    assertThat(count(kernel, "st\\.global\\.v2\\.s8 ")).isOne();
    for (int out = 0; out < 5; out++) {
      assertSame(
          kernel,
          out,
          new byte[4 * THREADS],
          new short[2 * THREADS],
          new float[4 * THREADS],
          new double[2 * THREADS],
          new boolean[2 * THREADS]);
    }
  }

  @Test
  void loadsEachSectorOnce() {
    var profiler = new Profiler();
    var options = EmulatorOptions.DEFAULT.withObservers(List.of(profiler));
    try (var device = new EmulatedDevice(options)) {
      Kernels.of(SampleKernels::luminance)
          .on(device)
          .checked(false)
          .launch(1, new byte[4 * 128], new float[128], 128);
    }
    var loads =
        profiler.profiles().getFirst().rows().stream()
            .filter(row -> row.instruction().opcode().startsWith("ld.global"))
            .filter(row -> row.executed() > 0) // not the loop of four iterations
            .toList();
    assertThat(loads).hasSize(1);
    assertThat(loads.getFirst().global().sectorsPerRequest()).isEqualTo(4);
  }

  @Test
  void doesNotMoveALoadBeforeAStore() {
    var kernel = Kernels.of(VectorAccessesTest::storesBetween);
    assertThat(count(kernel, "\\.v[24]\\.")).isZero();
    var a = IntStream.range(1, 2 * THREADS + 1).toArray();
    var out = new int[THREADS];
    try (var device = new EmulatedDevice()) {
      kernel.on(device).launch(1, a, out);
    }
    assertThat(out).containsOnly(0);
  }
}
