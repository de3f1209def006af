package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Loops of which four iterations are made at a time make exactly the iterations of plain Java, for
 * all remainders, and where the counter comes near the ends of its type.
 */
class UnrolledLoopsTest {
  private static final int BOUNDS = 12;

  @GpuKernel(blockSize = BOUNDS)
  static void below(int[] data, long[] out, int from, int to) {
    int end = to + threadIdxX();
    long state = 1;
    for (int i = from; i < end; i += 3) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void upTo(int[] data, long[] out, int from, int to) {
    int end = to + threadIdxX();
    long state = 1;
    for (int i = from; end >= i; i++) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void above(int[] data, long[] out, int from, int to) {
    int end = to + threadIdxX();
    long state = 1;
    for (int i = from; i > end; i -= 2) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void downTo(int[] data, long[] out, int from, int to) {
    int end = to + threadIdxX();
    long state = 1;
    for (int i = from; i >= end; i--) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  /** A counter of 64 bits, stores, and a condition in the loop. */
  @GpuKernel(blockSize = BOUNDS)
  static void odd(int[] data, long[] out, int from, int to) {
    long end = (long) to + threadIdxX();
    for (long i = from; i <= end; i += 5) {
      if ((i & 1) == 1) {
        out[threadIdxX()] = out[threadIdxX()] * 31 + data[(int) i & 7];
      }
    }
  }

  /** The bound is computed in the loop. */
  @GpuKernel(blockSize = BOUNDS)
  static void sum(int[] data, long[] out, int from, int to) {
    long state = 1;
    for (int i = from; i < to + threadIdxX(); i++) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  /** The bound is loaded in the loop. */
  @GpuKernel(blockSize = BOUNDS)
  static void loaded(int[] data, long[] out, int from, int to) {
    long state = 1;
    for (int i = from; i < to + data[threadIdxX() & 7]; i++) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void belowBy(int[] data, long[] out, int from, int to, int step) {
    long state = 1;
    for (int i = from; i < to + threadIdxX(); i += step) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void upToBy(int[] data, long[] out, int from, int to, int step) {
    long state = 1;
    for (int i = from; i <= to + threadIdxX(); i = step + i) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void aboveBy(int[] data, long[] out, int from, int to, int step) {
    long state = 1;
    for (int i = from; i > to + threadIdxX(); i += step) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void downToBy(int[] data, long[] out, int from, int to, int step) {
    long state = 1;
    for (int i = from; i >= to + threadIdxX(); i -= step) {
      state = state * 31 + data[i & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  @GpuKernel(blockSize = BOUNDS)
  static void longBy(int[] data, long[] out, int from, int to, int step) {
    long end = ((long) to << 32) + threadIdxX();
    long state = 1;
    for (long i = (long) from << 32; i < end; i += (long) step << 31) {
      state = state * 31 + data[(int) (i >>> 31) & 7] + i;
    }
    out[threadIdxX()] = state;
  }

  /** Threads wait for each other, and make the same number of iterations. */
  @GpuKernel(blockSize = BOUNDS)
  static void exchange(int[] data, long[] out, int from, int to, int step) {
    int[] shared = Gpu.sharedInts(BOUNDS);
    int t = threadIdxX();
    long state = t;
    for (int i = from; i < to; i += step) {
      shared[t] = data[(i + t) & 7];
      Gpu.barrier();
      state = state * 31 + shared[(t + i) % BOUNDS] + Gpu.shuffle(t + i, i % BOUNDS);
      Gpu.barrier();
    }
    out[t] = state;
  }

  /** Loops over the threads of the block: all threads make four, five or no iterations, or not. */
  @GpuKernel(blockSize = BOUNDS)
  static void ofBlock(int[] data, long[] out, int from, int to) {
    int t = threadIdxX();
    long state = from;
    for (int i = t; i < 4 * BOUNDS; i += BOUNDS) {
      state = state * 31 + data[i & 7] + i % 5;
    }
    for (int i = 5 * BOUNDS - 1 - t; i >= 0; i -= BOUNDS) {
      state = state * 37 + data[i & 7] + i;
    }
    for (int i = t; i < 4 * BOUNDS + 1; i += BOUNDS) {
      state = state * 41 + data[i & 7] + i;
    }
    for (int i = t + 1; i <= 0; i += 7) {
      state = state * 43 + data[i & 7];
    }
    for (int i = Integer.MAX_VALUE - t; i > 0; i += BOUNDS) {
      state = state * 47 + data[i & 7] + to;
    }
    out[t] = state;
  }

  @Test
  void loopsOverTheThreadsOfABlockMakeTheIterationsOfPlainJava() {
    assertSameAsPlainJava("ofBlock", 3, 5);
  }

  /** Sums a row of a sparse matrix, element by element. */
  @GpuKernel(blockSize = 1)
  static void row(int[] rows, int[] values, int[] sums, int row) {
    sums[0] = 7;
    int sum = 0;
    for (int k = rows[row]; k < rows[row + 1]; k++) {
      sum += values[k];
      sums[k + 1] = sum;
    }
  }

  /** The first of two checks in the loop's condition fails before the one of the bound. */
  @GpuKernel(blockSize = 1)
  static void sorted(int[] values, int[] sums, int from, int last) {
    int i = from;
    while (values[i] < values[last]) {
      sums[0] += values[i];
      i++;
    }
  }

  private static CheckFailedException fault(String name, Object... arguments) {
    try (var device = new EmulatedDevice()) {
      var launch = Kernels.of(UnrolledLoopsTest.class, name).on(device).checked(true);
      return catchThrowableOfType(
          CheckFailedException.class, () -> launch.launch(new Dim3(1, 1, 1), arguments));
    }
  }

  @Test
  void checksFailWhereTheyDoInJava() {
    int[] rows = {0, 3, 9};
    assertThat(fault("row", rows, new int[7], new int[9], 1))
        .hasMessageContaining("index 7 is out of bounds for `values`");
    assertThat(fault("row", rows, new int[7], new int[7], 1))
        .hasMessageContaining("index 7 is out of bounds for `sums`");
    assertThat(fault("row", rows, new int[9], new int[9], 2))
        .hasMessageContaining("index 3 is out of bounds for `rows`");
    assertThat(fault("row", rows, new int[9], new int[0], 2))
        .hasMessageContaining("index 0 is out of bounds for `sums`");
    assertThat(fault("sorted", new int[4], new int[1], 5, 6))
        .hasMessageContaining("index 5 is out of bounds for `values`");
  }

  @ParameterizedTest
  @CsvSource({
    "sum, 0, -6",
    "sum, 5, 20",
    "sum, -2147483648, -2147483648",
    "sum, 2147483600, 2147483633",
    "loaded, 0, -6",
    "loaded, 5, 20",
    "loaded, 2147483600, 2147483600",
    "below, 0, 0",
    "below, 0, -6",
    "below, 5, 20",
    "below, -2147483648, -2147483648",
    "below, -2147483640, -2147483648",
    "below, 2147483600, 2147483633",
    "below, 2147483640, -2147483648",
    "upTo, 0, -6",
    "upTo, 5, 20",
    "upTo, -2147483648, -2147483648",
    "upTo, -2147483647, -2147483648",
    "upTo, 2147483600, 2147483635",
    "above, 0, -6",
    "above, 30, -11",
    "above, -2147483590, -2147483646",
    "above, 2147483647, 2147483620",
    "above, 2147483640, 2147483636",
    "downTo, 3, -6",
    "downTo, 30, 0",
    "downTo, -2147483600, -2147483647",
    "downTo, 2147483647, 2147483630",
    "downTo, 2147483640, 2147483636",
    "odd, 0, 40",
    "odd, -2147483648, -2147483648",
    "odd, 2147483600, 2147483630",
  })
  void makeTheIterationsOfPlainJava(String name, int from, int to) {
    assertSameAsPlainJava(name, from, to);
    assertUnrolled(name);
  }

  @ParameterizedTest
  @CsvSource({
    "belowBy, 0, 20, 1",
    "belowBy, 0, 20, 3",
    "belowBy, 3, -20, -1",
    "belowBy, 0, 20, -1073741823",
    "belowBy, 0, 20, 2147483647",
    "belowBy, -2147483648, 2147483620, 536870911",
    "belowBy, -2147483648, 1610612700, 536870912",
    "belowBy, -2147483648, 0, 2147483647",
    "belowBy, 2147483640, 2147483600, 0",
    "upToBy, 0, 20, 1",
    "upToBy, 0, 20, 5",
    "upToBy, -2147483647, -2147483648, 1",
    "upToBy, -2147483648, 1610612700, 536870912",
    "upToBy, 0, 20, -1073741823",
    "upToBy, 40, 0, 0",
    "aboveBy, 40, 0, -1",
    "aboveBy, 40, 0, -7",
    "aboveBy, 40, 0, 1073741825",
    "aboveBy, 2147483647, -2147483641, -536870911",
    "aboveBy, 2147483647, -1610612744, -536870913",
    "aboveBy, -5, 0, 0",
    "aboveBy, 2, -20, -2147483648",
    "downToBy, 40, 0, 1",
    "downToBy, 40, 0, 6",
    "downToBy, 40, 0, -1073741823",
    "downToBy, 2147483647, -2147483640, 536870911",
    "downToBy, 2147483647, -1610612743, 536870913",
    "downToBy, -5, 0, 0",
    "longBy, 0, 10, 3",
    "longBy, 5, 3, -1",
    "longBy, -2147483648, 2147483640, 1073741823",
    "longBy, -2147483648, 1610612730, 1073741824",
    "exchange, 0, 22, 1",
    "exchange, 5, 60, 7",
  })
  void makeTheIterationsOfPlainJavaInAnyStep(String name, int from, int to, int step) {
    assertSameAsPlainJava(name, from, to, step);
    assertUnrolled(name);
  }

  private static void assertSameAsPlainJava(String name, Integer... numbers) {
    var kernel = Kernels.of(UnrolledLoopsTest.class, name);
    int[] data = {1, -2, 3, -5, 7, -11, 13, -17};
    var expected = new long[BOUNDS];
    var one = new Dim3(1, 1, 1);
    PlainJava.run(
        kernel.method(),
        one,
        new Dim3(BOUNDS, 1, 1),
        0,
        GpuThread.STANDARD_OUTPUT,
        arguments(data, expected, numbers));
    for (boolean checked : new boolean[] {true, false}) {
      var actual = new long[BOUNDS];
      try (var device = new EmulatedDevice()) {
        kernel.on(device).checked(checked).launch(one, arguments(data, actual, numbers));
      }
      assertThat(actual).as("checked: %s", checked).isEqualTo(expected);
    }
  }

  private static Object[] arguments(int[] data, long[] out, Integer... numbers) {
    return Stream.concat(Stream.of(data, out), Arrays.stream(numbers)).toArray();
  }

  private static void assertUnrolled(String name) {
    var text = Objects.toString(Kernels.of(UnrolledLoopsTest.class, name).module(false));
    long loads = text.lines().filter(l -> l.contains("ld.global")).count();
    assertThat(loads).as("four copies and the rest").isGreaterThanOrEqualTo(5);
  }
}
