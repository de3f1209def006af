package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Findings in library code name the line of the kernel too. */
class LibraryLinesTest {
  private static final EmulatedDevice DEVICE =
      new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL));

  @AfterAll
  static void close() {
    DEVICE.close();
  }

  @GpuKernel(blockSize = 1)
  static void modulo(int[] a, int divisor) {
    a[0] = Math.floorMod(5, divisor);
  }

  @Test
  void checksNameTheCallOfTheLibrary() {
    var kernel = Kernels.of(LibraryLinesTest::modulo).on(DEVICE);
    assertThatThrownBy(() -> kernel.launch(1, new int[1], 0))
        .isInstanceOfSatisfying(
            CheckFailedException.class,
            failure -> {
              assertThat(failure.source().file()).isEqualTo("LibraryLinesTest.java");
              assertThat(failure)
                  .hasMessageMatching(
                      "KernelMath\\.java:\\d+ \\(LibraryLinesTest\\.java:%d\\): integer .*"
                          .formatted(failure.source().line()));
            });
  }

  @GpuKernel(blockSize = 32)
  static void sum(int[] a, int n) {
    int thread = Gpu.threadIdxX();
    if (thread < n) {
      a[thread] = Gpu.warpSum(a[thread]);
    }
  }

  @Test
  void faultsNameTheCallOfTheLibrary() {
    var kernel = Kernels.of(LibraryLinesTest::sum).on(DEVICE);
    assertThatThrownBy(() -> kernel.launch(1, new int[32], 20))
        .hasMessageMatching(
            "(?s).*WarpReductions\\.java:\\d+ \\(LibraryLinesTest\\.java:\\d+\\).*");
  }

  @GpuKernel(blockSize = 32)
  static void storesMatrix(float[] a) {
    WarpMatrix.store(WarpMatrix.zero(), a, 0, 8);
  }

  @Test
  void matricesAreOfTheLibrary() {
    var kernel = Kernels.of(LibraryLinesTest::storesMatrix).on(DEVICE);
    assertThatThrownBy(() -> kernel.launch(1, (Object) new float[100]))
        .hasMessageMatching("WarpMatrix\\.java:\\d+ \\(LibraryLinesTest\\.java:\\d+\\): index .*");
  }

  @GpuKernel(blockSize = 1)
  static void afterwards(int[] a, int divisor) {
    a[0] = Math.floorMod(5, 3);
    a[1] = 5 / divisor;
  }

  @Test
  void theKernelsOwnLinesHaveNoCall() {
    var kernel = Kernels.of(LibraryLinesTest::afterwards).on(DEVICE);
    assertThatThrownBy(() -> kernel.launch(1, new int[2], 0))
        .hasMessageMatching("LibraryLinesTest\\.java:\\d+: integer .*");
  }
}
