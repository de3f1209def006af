package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.function.Supplier;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks of launches report what plain Java refuses. */
class ChecksTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 1)
  static void divide(int[] out, int x, int y) {
    out[0] = Integer.divideUnsigned(x, y);
  }

  @GpuKernel(blockSize = 1)
  static void remainder(int[] out, int x, int y) {
    out[0] = Integer.remainderUnsigned(x, y);
  }

  @GpuKernel(blockSize = 1)
  static void divideLong(long[] out, long x, long y) {
    out[0] = Long.divideUnsigned(x, y);
  }

  @GpuKernel(blockSize = 1)
  static void remainderLong(long[] out, long x, long y) {
    out[0] = Long.remainderUnsigned(x, y);
  }

  @GpuKernel(blockSize = 1)
  static void get(MemorySegment s, long offset, int[] out) {
    out[0] = s.get(ValueLayout.JAVA_INT, offset);
  }

  @GpuKernel(blockSize = 1)
  static void set(MemorySegment s, long offset) {
    s.set(ValueLayout.JAVA_DOUBLE, offset, 1);
  }

  @GpuKernel(blockSize = 1)
  static void getByte(MemorySegment s, long offset, int[] out) {
    out[0] = s.get(ValueLayout.JAVA_BYTE, offset);
  }

  @GpuKernel(blockSize = 1)
  static void clampFloat(float[] out, float min, float max) {
    out[0] = Math.clamp(2f, min, max);
  }

  @GpuKernel(blockSize = 1)
  static void clampDouble(double[] out, double min, double max) {
    out[0] = Math.clamp(2d, min, max);
  }

  @GpuKernel(blockSize = 1)
  static void clampInt(int[] out, int min, int max) {
    out[0] = Math.clamp(2L, min, max);
  }

  @GpuKernel(blockSize = 1)
  static void clampLong(long[] out, long min, long max) {
    out[0] = Math.clamp(2L, min, max);
  }

  @GpuKernel(blockSize = 1)
  static void copyInts(int[] x, int from, int to) {
    int[] tile = Gpu.sharedInts(32);
    AsyncCopy.copy(tile, to, x, from);
    AsyncCopy.commit();
    AsyncCopy.await(0);
    x[0] = tile[to];
  }

  @GpuKernel(blockSize = 1)
  static void copyBytes(byte[] x, int from, int to) {
    byte[] tile = Gpu.sharedBytes(32);
    AsyncCopy.copy(tile, to, x, from);
    AsyncCopy.commit();
    AsyncCopy.await(0);
    x[0] = tile[to];
  }

  @GpuKernel(blockSize = 32)
  static void loadA(int[] out, int start) {
    short[] tile = Gpu.sharedShorts(16 * 24 - 4);
    for (int i = Gpu.threadIdxX(); i < tile.length; i += 32) {
      tile[i] = 1;
    }
    Gpu.barrier();
    out[Gpu.threadIdxX()] = WarpMatrix.loadA(tile, start, 24).r0();
  }

  private static void assertFails(ThrowingCallable launch, String message) {
    assertThatThrownBy(launch)
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining(message);
  }

  private static DeviceKernel kernel(String name) {
    return Kernels.of(ChecksTest.class, name).on(DEVICE).checked(true);
  }

  @Test
  void unsignedDivisorsAreChecked() {
    var zero = ": integer division by zero, in thread (0, 0, 0)";
    assertFails(() -> kernel("divide").launch(1, new int[1], 5, 0), zero);
    assertFails(() -> kernel("remainder").launch(1, new int[1], 5, 0), zero);
    assertFails(() -> kernel("divideLong").launch(1, new long[1], 5L, 0L), zero);
    assertFails(() -> kernel("remainderLong").launch(1, new long[1], 5L, 0L), zero);
    var out = new int[1];
    kernel("divide").launch(1, out, -1, 2);
    assertThat(out).containsExactly(Integer.MAX_VALUE);
  }

  @ParameterizedTest
  @CsvSource({"0, 2", "4, 6", "8, 8", "-4, 8", "0, 0", "9223372036854775804, 8"})
  void allBytesOfAnAccessAreInTheSegment(long offset, int size) {
    assertFails(
        () -> kernel("get").launch(1, MemorySegment.ofArray(new byte[size]), offset, new int[1]),
        "bytes %d to %d are out of bounds for `s`, which has %d bytes"
            .formatted(offset, offset + 3, size));
  }

  @Test
  void theLastBytesOfASegmentAreAccessed() {
    var s = MemorySegment.ofArray(new int[] {1, 2, 3, 4});
    var out = new int[1];
    kernel("get").launch(1, s, 12L, out);
    assertThat(out).containsExactly(4);
    kernel("set").launch(1, s, 8L);
    assertThat(s.get(ValueLayout.JAVA_INT, 12)).isEqualTo(0x3FF00000);
    assertFails(
        () -> kernel("set").launch(1, s.asSlice(0, 12), 8L),
        "bytes 8 to 15 are out of bounds for `s`, which has 12 bytes");
    assertFails(
        () -> kernel("getByte").launch(1, s, 16L, out),
        "byte 16 is out of bounds for `s`, which has 16 bytes");
  }

  @ParameterizedTest
  @CsvSource({
    "1, 3",
    "2, 2",
    "3, 1",
    "0, -0",
    "-0, 0",
    "0, 0",
    "-0, -0",
    "NaN, 3",
    "1, NaN",
    "NaN, NaN",
    "-Infinity, Infinity",
    "Infinity, -Infinity"
  })
  void boundsOfAClampAreCheckedAsInJava(double min, double max) {
    boolean isRefused = catchThrowable(() -> Math.clamp(2d, min, max)) != null;
    checkClamp(isRefused, "clampFloat", () -> new float[1], (float) min, (float) max);
    checkClamp(isRefused, "clampDouble", () -> new double[1], min, max);
    if (min == (int) min && max == (int) max) {
      checkClamp(min > max, "clampInt", () -> new int[1], (int) min, (int) max);
      checkClamp(min > max, "clampLong", () -> new long[1], (long) min, (long) max);
    }
  }

  private static void checkClamp(
      boolean isRefused, String kernel, Supplier<Object> out, Object min, Object max) {
    ThrowingCallable launch = () -> kernel(kernel).launch(1, out.get(), min, max);
    if (isRefused) {
      assertFails(launch, "Math.clamp needs min <= max, and no NaN");
    } else {
      assertThatNoException().isThrownBy(launch);
    }
  }

  @ParameterizedTest
  @CsvSource({"4, 28, 6", "0, 0, 3", "4, 28, 4"})
  void allElementsOfAnAsynchronousCopyAreInTheSource(int from, int to, int length) {
    assertFails(
        () -> kernel("copyInts").launch(1, new int[length], from, to),
        "indices %d to %d are out of bounds for `x`, which has %d elements"
            .formatted(from, from + 3, length));
  }

  @Test
  void allElementsOfAnAsynchronousCopyAreInTheTarget() {
    assertFails(
        () -> kernel("copyInts").launch(1, new int[8], 4, 29),
        "indices 29 to 32 are out of bounds for `tile`, which has 32 elements");
    assertFails(
        () -> kernel("copyBytes").launch(1, new byte[16], 0, 17),
        "indices 17 to 32 are out of bounds for `tile`, which has 32 elements");
    kernel("copyInts").launch(1, new int[8], 4, 28);
    kernel("copyBytes").launch(1, new byte[16], 0, 16);
  }

  @Test
  void allElementsOfARowAreInTheArray() {
    kernel("loadA").launch(1, new int[32], 0);
    assertFails(
        () -> kernel("loadA").launch(1, new int[32], 8),
        "indices 376 to 383 are out of bounds for `tile`, which has 380 elements");
  }
}
