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

  /** Four of 19 kernels exceed 1.31: they read elements that only their arguments bound. */
  @Test
  void checksAddLessThanAThirdToMostKernels() {
    var ratios =
        Arrays.stream(SampleKernels.class.getDeclaredMethods())
            .filter(method -> method.isAnnotationPresent(GpuKernel.class))
            .map(method -> Kernels.of(SampleKernels.class, method.getName()))
            .map(kernel -> (double) instructions(kernel, true) / instructions(kernel, false))
            .toList();
    assertThat(ratios).hasSizeGreaterThan(15).allMatch(ratio -> ratio < 1.5);
    assertThat(ratios.stream().filter(ratio -> ratio > 1.31).count()).isLessThanOrEqualTo(4);
  }

  /** Returns the number of instructions, without those that a failed check runs. */
  private static long instructions(JavaKernel kernel, boolean checked) {
    return kernel.module(checked).kernels().getFirst().body().stream()
        .takeWhile(
            each -> !(each instanceof Statement.Label label && label.name().startsWith("$fault")))
        .filter(Statement.Instruction.class::isInstance)
        .count();
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
