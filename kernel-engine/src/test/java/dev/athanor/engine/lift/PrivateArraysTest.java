package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Arrays that a thread creates are in registers or local memory, with the results of plain Java.
 */
class PrivateArraysTest {

  private static final int THREADS = 64;
  private static final InJava IN_JAVA = new InJava(PrivateArraysTest.class);

  @GpuKernel(blockSize = THREADS)
  static void sort(int[] x, long[] out) {
    int[] values = new int[9];
    for (int i = 0; i < values.length; i++) {
      int value = x[threadIdxX()] * (i * i + 3) ^ i << 5;
      int at = i;
      while (at > 0 && values[at - 1] > value) {
        values[at] = values[at - 1];
        at--;
      }
      values[at] = value;
    }
    out[threadIdxX()] = values[0] + 31L * values[4] + 77L * values[8];
  }

  @GpuKernel(blockSize = THREADS)
  static void polynomial(int[] x, long[] out) {
    int value = x[threadIdxX()];
    double[] powers = {1, 0, 0, 0};
    for (int i = 1; i < 4; i++) {
      powers[i] = powers[i - 1] * (value % 100);
    }
    out[threadIdxX()] = (long) (powers[3] - 2 * powers[2] + powers[0]);
  }

  @GpuKernel(blockSize = THREADS)
  static void narrow(int[] x, long[] out) {
    int value = x[threadIdxX()];
    var bytes = new byte[2];
    var shorts = new short[2];
    var chars = new char[2];
    var booleans = new boolean[2];
    if (value > 0) {
      bytes[1] = (byte) value;
      shorts[0] = (short) value;
    } else {
      chars[1] = (char) value;
      booleans[0] = (value & 1) == 0;
    }
    bytes[1]++;
    out[threadIdxX()] = bytes[1] + 3L * shorts[0] + 5L * chars[1] + (booleans[0] ? 7 : bytes[0]);
  }

  @GpuKernel(blockSize = THREADS)
  static void matrix(int[] x, long[] out) {
    var a = new float[3][4];
    for (int i = 0; i < a.length; i++) {
      for (int k = 0; k < a[i].length; k++) {
        a[i][k] = x[threadIdxX()] % (7 + i + k);
      }
    }
    var row = a[(x[threadIdxX()] & 15) % 3];
    long sum = row.length;
    for (float each : row) {
      sum = sum * 5 + (long) each;
    }
    out[threadIdxX()] = sum + (long) a[2][1];
  }

  @GpuKernel(blockSize = THREADS)
  static void createdInALoop(int[] x, long[] out) {
    long sum = 0;
    for (int i = 0; i < (x[threadIdxX()] & 7); i++) {
      long[] counts = new long[3];
      counts[(x[threadIdxX()] + i & 0xFF) % 3] += i + 1;
      for (int k = 0; k < 3; k++) {
        sum = sum * 3 + counts[k];
      }
    }
    out[threadIdxX()] = sum;
  }

  @GpuKernel(blockSize = THREADS)
  static void exchanged(int[] x, long[] out) {
    int[] previous = new int[40];
    int[] next = new int[40];
    previous[39] = x[threadIdxX()];
    for (int i = 0; i < (previous[39] & 7); i++) {
      for (int k = 1; k < next.length - 1; k++) {
        next[k] = previous[k - 1] ^ previous[k + 1] * 3;
      }
      next[39] = previous[39] + i;
      var swapped = previous;
      previous = next;
      next = swapped;
    }
    out[threadIdxX()] = previous[37] + 5L * previous[36] + next.length;
  }

  private static int[] squares(int count) {
    var found = new int[4];
    for (int i = 0; i < found.length; i++) {
      found[i] = count * i * i;
    }
    return found;
  }

  @GpuKernel(blockSize = THREADS)
  static void returned(int[] x, long[] out) {
    var a = squares(x[threadIdxX()]);
    var b = squares(3);
    var none = new int[0];
    out[threadIdxX()] = a[3] + 7L * b[2] + a[1] + none.length;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sort",
        "polynomial",
        "narrow",
        "matrix",
        "createdInALoop",
        "exchanged",
        "returned"
      })
  void equalsPlainJava(String kernel) {
    var x = new Random(5).ints(THREADS).toArray();
    var expected = new long[THREADS];
    IN_JAVA.run(kernel, Dim3.of(1), Dim3.of(THREADS), x, expected);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      for (boolean checked : new boolean[] {true, false}) {
        for (var each : new JavaKernel[] {kernel(kernel), kernel(kernel).debugged()}) {
          var found = new long[THREADS];
          each.on(device).checked(checked).launch(1, x, found);
          assertThat(found).isEqualTo(expected);
        }
      }
    }
  }

  private static JavaKernel kernel(String name) {
    return Kernels.of(PrivateArraysTest.class, name);
  }

  @ParameterizedTest
  @ValueSource(strings = {"polynomial", "narrow", "returned"})
  void isInRegistersIfAllIndicesAreConstant(String kernel) {
    assertThat(kernel(kernel).module(true).toString()).doesNotContain(".local");
    assertThat(kernel(kernel).module(false).toString()).doesNotContain(".local");
  }

  @ParameterizedTest
  @ValueSource(strings = {"sort", "matrix", "createdInALoop", "exchanged"})
  void isInLocalMemoryIfAnIndexVaries(String kernel) {
    assertThat(kernel(kernel).module(false).toString()).contains(".local .align 16 .b8 local");
  }

  @GpuKernel(blockSize = 1)
  static void outOfBounds(int[] x) {
    int[] values = new int[3];
    values[x[0]] = 1;
    x[0] = values[2];
  }

  @GpuKernel(blockSize = 1)
  static void rowOutOfBounds(int[] x) {
    int[][] values = new int[3][2];
    values[x[0]][1] = 1;
    x[0] = values[2][x[1]];
  }

  @Test
  void checksIndices() {
    try (var device = new EmulatedDevice()) {
      assertThatThrownBy(() -> kernel("outOfBounds").on(device).launch(1, new int[] {3}))
          .isInstanceOf(CheckFailedException.class)
          .hasMessageContaining("index 3 is out of bounds for `values`, which has 3 elements");
      assertThatThrownBy(() -> kernel("rowOutOfBounds").on(device).launch(1, new int[] {-1, 0}))
          .hasMessageContaining("index -1 is out of bounds for `values`, which has 3 elements");
      assertThatThrownBy(() -> kernel("rowOutOfBounds").on(device).launch(1, new int[] {1, 2}))
          .hasMessageContaining("index 2 is out of bounds for `values[…]`, which has 2 elements");
    }
  }
}
