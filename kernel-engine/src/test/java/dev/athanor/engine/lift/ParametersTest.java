package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.engine.emulator.EmulatedDevice;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** The parameters of kernels: their names, and the values that they may have. */
class ParametersTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 1)
  static void quotients(int[] out, int row_length) {
    out[0] = row_length / 4;
    out[1] = row_length % 8;
    out[2] = row_length < 0 ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void isLong(int[] out, long s_length) {
    out[0] = s_length > 3_000_000_000L ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void isLarge(MemorySegment s, int[] out) {
    out[0] = s.byteSize() > 3_000_000_000L ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void isNegative(MemorySegment s, int[] x, int[] out) {
    out[0] = s.byteSize() < 0 || x.length < 0 ? 1 : 2;
  }

  @GpuKernel(blockSize = 1)
  static void setAt(MemorySegment s, long at, MemorySegment sizes) {
    s.set(ValueLayout.JAVA_INT, at, 7);
    s.set(ValueLayout.JAVA_INT, sizes.byteSize(), 8);
  }

  @Test
  void aParameterNamedAsALengthMayBeNegative() {
    var out = new int[3];
    Kernels.of(ParametersTest::quotients).on(DEVICE).launch(1, out, -7);
    assertThat(out).containsExactly(-7 / 4, -7 % 8, 1);
  }

  @Test
  void aParameterNamedAsALengthMayBeAnyLong() {
    var out = new int[1];
    Kernels.of(ParametersTest::isLong).on(DEVICE).launch(1, out, 4_000_000_000L);
    assertThat(out).containsExactly(1);
  }

  @Test
  void aSegmentMayHaveMoreThanTwoGigabytes() {
    var ptx = Kernels.of(ParametersTest::isLarge).module(false).toString();
    assertThat(ptx).contains("setp.").contains("3000000000");
  }

  @Test
  void noLengthIsNegative() {
    var ptx = Kernels.of(ParametersTest::isNegative).module(false).toString();
    assertThat(ptx).doesNotContain("setp").contains("st.global.s32 [%rd0], 2;");
  }

  @Test
  void onlyMemoryIsWritten() {
    assertThat(Kernels.of(ParametersTest::setAt).parameters())
        .containsExactly(
            new KernelParameter("s", MemorySegment.class, true),
            new KernelParameter("at", long.class, false),
            new KernelParameter("sizes", MemorySegment.class, false));
  }
}
