package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Report;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Threads that return before a barrier at which the rest of their block waits. */
class EarlyExitTest {

  @GpuKernel(blockSize = 64)
  static void returnsEarly(int[] a, int n) {
    int thread = Gpu.threadIdxX();
    if (thread >= n) {
      return;
    }
    Gpu.barrier();
    a[thread] = thread;
  }

  @GpuKernel(blockSize = 64)
  static void guards(int[] a, int n) {
    int thread = Gpu.threadIdxX();
    Gpu.barrier();
    if (thread < n) {
      a[thread] = thread;
    }
  }

  @GpuKernel(blockSize = 64)
  static void returnsBeforeSum(int[] a, int n) {
    int thread = Gpu.threadIdxX();
    if (thread >= n) {
      return;
    }
    a[thread] = Gpu.blockSum(thread);
  }

  private static EmulatedDevice device(Sanitize level) {
    return new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(level));
  }

  @ParameterizedTest
  @ValueSource(ints = {40, 32, 1})
  void aBarrierThatOpensWithoutExitedThreadsIsReported(int n) {
    try (var device = device(Sanitize.FULL)) {
      var kernel = Kernels.of(EarlyExitTest::returnsEarly).on(device);
      assertThatThrownBy(() -> kernel.launch(1, new int[64], n))
          .isInstanceOfSatisfying(
              KernelFault.class,
              fault ->
                  assertThat(fault.findings())
                      .extracting(Report::kind)
                      .containsExactly(Report.Kind.BARRIER_ABANDONED))
          .hasMessageContaining("EarlyExitTest.java:")
          .hasMessageContaining(
              "waits at barrier 0 for all threads of the block, but %d of them have exited; let all"
                  .formatted(64 - n));
    }
  }

  @Test
  void barriersInTheLibraryAreReportedWithTheirCall() {
    try (var device = device(Sanitize.FULL)) {
      var kernel = Kernels.of(EarlyExitTest::returnsBeforeSum).on(device);
      assertThatThrownBy(() -> kernel.launch(1, new int[64], 32))
          .hasMessageMatching("(?s).*BlockReductions\\.java:\\d+ \\(EarlyExitTest\\.java:.*")
          .hasMessageContaining("but 32 of them have exited");
    }
  }

  @Test
  void otherKernelsAndLevelsAreSilent() {
    for (var level : new Sanitize[] {Sanitize.OFF, Sanitize.MEMORY}) {
      try (var device = device(level)) {
        var a = new int[64];
        Kernels.of(EarlyExitTest::returnsEarly).on(device).launch(1, a, 40);
        assertThat(a[39]).isEqualTo(39);
      }
    }
    try (var device = device(Sanitize.FULL)) {
      var a = new int[64];
      Kernels.of(EarlyExitTest::guards).on(device).launch(1, a, 40);
      assertThat(a[39]).isEqualTo(39);
    }
  }
}
