package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.lift.host.GpuThread;
import dev.athanor.engine.lift.host.PlainJava;
import java.lang.reflect.Array;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The kernels that are compared with nvcc's compute what they do in plain Java. */
class ReferenceKernelsTest {
  private static final Random RANDOM = new Random(1);
  private static final int RECORDS = 256;
  private static final int RECORD = 23;

  private static float[] floats(int n) {
    var all = new float[n];
    for (int i = 0; i < n; i++) {
      all[i] = 0.5f + RANDOM.nextFloat();
    }
    return all;
  }

  /** Rows of a matrix with 0, 1, 2 and more elements. */
  private static int[] rows(int n) {
    return IntStream.rangeClosed(0, n).map(row -> row * (row - 1) / 2).toArray();
  }

  private static Object[] arguments(String name) {
    return switch (name) {
      case "nBody" -> {
        int n = 256;
        yield new Object[] {
          floats(n),
          floats(n),
          floats(n),
          floats(n),
          new float[n],
          new float[n],
          new float[n],
          n - 1
        };
      }
      case "spmv" -> {
        int n = 40;
        var rows = rows(n);
        var columns = RANDOM.ints(rows[n], 0, n).toArray();
        yield new Object[] {rows, columns, floats(rows[n]), floats(n), new float[n], n};
      }
      case "crc32" -> {
        var data = new byte[RECORDS * RECORD];
        RANDOM.nextBytes(data);
        yield new Object[] {data, new int[RECORDS], RECORD};
      }
      case "sobel" -> new Object[] {floats(32 * 8), new float[32 * 8], 30, 8};
      case "blackScholes" -> {
        int n = 1000;
        yield new Object[] {
          floats(n), floats(n), floats(n), new float[n], new float[n], 0.02f, 0.3f, n
        };
      }
      case "registerTiles" ->
          new Object[] {floats(64 * 32), floats(32 * 64), new float[64 * 64], 64, 32};
      default -> throw new IllegalArgumentException(name);
    };
  }

  private static Object copy(Object argument) {
    return switch (argument) {
      case float[] x -> x.clone();
      case int[] x -> x.clone();
      default -> argument;
    };
  }

  @ParameterizedTest
  @ValueSource(strings = {"nBody", "spmv", "crc32", "sobel", "blackScholes", "registerTiles"})
  void computeWhatTheyDoInPlainJava(String name) {
    var kernel = Kernels.of(ReferenceKernels.class, name);
    var one = Dim3.of(1);
    var arguments = arguments(name);
    var expected = Arrays.stream(arguments).map(ReferenceKernelsTest::copy).toArray();
    PlainJava.run(
        kernel.method(),
        one,
        kernel.blockSize().orElseThrow(),
        0,
        GpuThread.STANDARD_OUTPUT,
        expected);
    for (boolean checked : new boolean[] {true, false}) {
      var actual = Arrays.stream(arguments).map(ReferenceKernelsTest::copy).toArray();
      try (var device = new EmulatedDevice()) {
        kernel.on(device).checked(checked).launch(one, actual);
      }
      for (int i = 0; i < expected.length; i++) {
        assertClose(name + ", argument " + i, actual[i], expected[i]);
      }
    }
  }

  /** Floating-point numbers may differ by the errors of the device's approximations. */
  private static void assertClose(String what, Object actual, Object expected) {
    if (!(expected instanceof float[])) {
      assertThat(actual).as(what).isEqualTo(expected);
      return;
    }
    for (int i = 0; i < Array.getLength(expected); i++) {
      float want = Array.getFloat(expected, i);
      assertThat(Math.abs(Array.getFloat(actual, i) - want))
          .as("%s at %d", what, i)
          .isLessThanOrEqualTo(1e-5f * Math.max(1, Math.abs(want)));
    }
  }

  @Test
  void checksumsAreThoseOfTheJdk() {
    var data = "123456789".repeat(RECORDS).getBytes(StandardCharsets.US_ASCII);
    var checksums = new int[RECORDS];
    try (var device = new EmulatedDevice()) {
      Kernels.of(ReferenceKernels.class, "crc32").on(device).launch(1, data, checksums, 9);
    }
    var expected = new CRC32();
    expected.update(data, 0, 9);
    assertThat(checksums).containsOnly((int) expected.getValue());
  }
}
