package dev.athanor.engine.lift;

import static dev.athanor.engine.lift.Gpu.blockDimX;
import static dev.athanor.engine.lift.Gpu.blockIdxX;
import static dev.athanor.engine.lift.Gpu.threadIdxX;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.ptx.Statement;
import java.util.Arrays;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks that cannot fail, and those that seem so. */
class ProvenChecksTest {
  private static final EmulatedDevice DEVICE = new EmulatedDevice();

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 64)
  static void guarded(float[] x, int n) {
    int i = threadIdxX() + blockIdxX() * blockDimX();
    if (i < x.length) {
      x[i] += n;
    }
  }

  @GpuKernel
  static void guardedByReturn(float[] x, int n) {
    int i = blockIdxX() * blockDimX() + threadIdxX();
    if (x.length <= i) {
      return;
    }
    x[i] += n;
  }

  @GpuKernel(blockSize = 64)
  static void counted(float[] x, int n) {
    float sum = 0;
    for (int i = 0; i < x.length; i++) {
      sum += x[i];
    }
    for (int i = threadIdxX(); i < x.length; i += 64) {
      x[i] = sum * n;
    }
  }

  @GpuKernel(blockSize = {16, 16})
  static void tile(float[] x, int n) {
    float[] tile = Gpu.sharedFloats(256);
    int[] own = new int[4];
    int i = Gpu.threadIdxY() * 16 + threadIdxX();
    tile[i] = n;
    own[n & 3] = i;
    Gpu.barrier();
    if (i < x.length) {
      x[i] = tile[255 - i] + own[2] + tile[Gpu.laneId() * 8];
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"guarded", "guardedByReturn", "counted", "tile"})
  void checksThatCannotFailAreRemoved(String kernel) {
    assertThat(Kernels.of(ProvenChecksTest.class, kernel).module(true).toString())
        .doesNotContain("$fault");
  }

  @Test
  void checksAddLessThanAThirdToTheSampleKernels() {
    var ratios =
        Arrays.stream(SampleKernels.class.getDeclaredMethods())
            .filter(method -> method.isAnnotationPresent(GpuKernel.class))
            .map(method -> Kernels.of(SampleKernels.class, method.getName()))
            .map(kernel -> (double) instructions(kernel, true) / instructions(kernel, false))
            .toList();
    assertThat(ratios).hasSizeGreaterThan(15).allMatch(ratio -> ratio <= 1.3);
  }

  /** Returns the number of instructions, without those that a failed check runs. */
  private static long instructions(JavaKernel kernel, boolean checked) {
    return kernel.module(checked).kernels().getFirst().body().stream()
        .takeWhile(
            each -> !(each instanceof Statement.Label label && label.name().startsWith("$fault")))
        .filter(Statement.Instruction.class::isInstance)
        .count();
  }

  /** Reads neighbors; the checks of the inner ones follow from those of the outer ones. */
  @GpuKernel(blockSize = 1)
  static void neighbors(float[] x, float[] y, int i) {
    y[0] = i;
    y[1] = x[i] + x[i - 2] + y[i + 8] + x[i + 1] + x[i - 1];
  }

  @Test
  void checksWithoutStoresInBetweenShareABranch() {
    var text = Kernels.of(ProvenChecksTest.class, "neighbors").module(true).toString();
    assertThat(text.split("setp.hs.or.u32", -1)).hasSize(4);
    assertThat(text.split("@%p\\d+ bra \\$fault", -1)).hasSize(3); // before each store
  }

  @ParameterizedTest
  @CsvSource({
    "7, 20, 7",
    "8, 20, 8",
    "6, 20, 7",
    "0, 20, -2",
    "1, 20, -1",
    "-1, 20, -1",
    "-2147483648, 20, -2147483648",
    "2147483647, 20, 2147483647",
    "6, 14, 14",
    "4, 12, 12",
    "2, 1, 10"
  })
  void theFirstCheckThatFailsIsReported(int i, int length, int index) {
    var kernel = Kernels.of(ProvenChecksTest.class, "neighbors").on(DEVICE);
    assertThatThrownBy(() -> kernel.launch(1, new float[7], new float[length], i))
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining("index %d ".formatted(index));
  }

  @Test
  void checksDoNotSeparateLoads() {
    assertThat(Kernels.of(ProvenChecksTest.class, "quads").module(true).toString())
        .contains("ld.global.nc.v4.f32");
  }

  @GpuKernel(blockSize = 1)
  static void quads(float[] x, float[] y, int n) {
    int i = n * 4;
    y[0] = x[i] + x[i + 1] + x[i + 2] + x[i + 3];
  }

  @GpuKernel(blockSize = 1)
  static void negative(float[] x, int n) {
    if (n < x.length) {
      x[n] = 1;
    }
  }

  @GpuKernel(blockSize = 1)
  static void startsNegative(float[] x, int n) {
    for (int i = n; i < x.length; i++) {
      x[i] = 1;
    }
  }

  /** The counter overflows. */
  @GpuKernel(blockSize = 1)
  static void steps(float[] x, int n) {
    for (int i = 0; i < n; i += 1 << 20) {
      if (i < x.length) {
        x[i] = 1;
      }
    }
  }

  @GpuKernel(blockSize = 1)
  static void otherArray(float[] x, int n) {
    float[] shared = Gpu.sharedFloats(8);
    for (int i = 0; i < x.length; i++) {
      shared[i] = n;
    }
  }

  @GpuKernel(blockSize = 1)
  static void changed(float[] x, int n) {
    int i = 0;
    while (i < x.length) {
      i += n;
      x[i] = 1;
    }
  }

  @GpuKernel(blockSize = 1)
  static void countsDown(float[] x, int n) {
    for (int i = x.length - 1; i < x.length; i--) {
      x[i] = n;
    }
  }

  @ParameterizedTest
  @CsvSource({
    "negative, -1, -1",
    "startsNegative, -3, -3",
    "steps, 2147483647, -2147483648",
    "otherArray, 0, 8",
    "changed, 5, 10",
    "countsDown, 1, -1"
  })
  void othersFail(String name, int n, int index) {
    var kernel = Kernels.of(ProvenChecksTest.class, name).on(DEVICE);
    assertThatThrownBy(() -> kernel.launch(1, new float[9], n))
        .isInstanceOf(CheckFailedException.class)
        .hasMessageContaining("index %d ".formatted(index));
  }

  @Test
  void aGridOfCheckedCodeHasIndicesThatAreInts() {
    var kernel = Kernels.of(ProvenChecksTest::guarded).on(DEVICE).checked(true);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> kernel.launch(1 << 25, new float[1], 1))
        .withMessage(
            "a launch with checks has at most 2^31 - 1 threads along x, got 33554432 blocks of 64");
  }
}
