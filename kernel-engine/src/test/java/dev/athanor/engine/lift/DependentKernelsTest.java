package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.Argument;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Launch;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import dev.athanor.engine.ptx.Printer;
import dev.athanor.engine.ptx.Target;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Kernels in Java for dependent launches, in plain Java and on the emulator. */
class DependentKernelsTest {

  private static final int BLOCK = 64;

  @GpuKernel(blockSize = BLOCK)
  static void waits(int[] x) {
    int i = Gpu.threadIdxX();
    Gpu.launchDependents();
    Gpu.awaitPreviousGrid();
    x[i] = 2 * x[i] + 1;
  }

  /** The loads of x must not move before the wait. */
  @GpuKernel(blockSize = BLOCK)
  static void waitsLate(int[] x, int[] y) {
    int i = Gpu.threadIdxX();
    int sum = y[i];
    for (int k = 0; k < 4; k++) {
      Gpu.awaitPreviousGrid();
      sum += x[i];
    }
    y[i] = sum;
  }

  @GpuKernel(blockSize = BLOCK)
  static void neverWaits(int[] x) {
    int i = Gpu.threadIdxX();
    x[i] = 2 * x[i] + 1;
  }

  @Test
  void plainJavaDoesNotWait() {
    int[] x = new int[BLOCK];
    x[3] = 5;
    Kernels.of(DependentKernelsTest::waits).inJava().launch(1, x);
    assertThat(x[3]).isEqualTo(11);
    assertThat(x[4]).isEqualTo(1);
  }

  @Test
  void callsBecomeInstructions() {
    assertThat(Printer.print(Kernels.of(DependentKernelsTest::waits).module(false)))
        .contains(".target sm_90\n")
        .containsSubsequence(
            "griddepcontrol.launch_dependents;", "griddepcontrol.wait;", "ld.global");
  }

  @Test
  void dependentLaunchesWait() {
    var options = EmulatorOptions.DEFAULT.withTarget(Target.SM_90).withSanitize(Sanitize.FULL);
    try (var device = new EmulatedDevice(options);
        var stream = device.openStream();
        var x = device.allocate(4 * BLOCK);
        var y = device.allocate(4 * BLOCK)) {
      stream.fill(x, 0, 4 * BLOCK, (byte) 0);
      stream.fill(y, 0, 4 * BLOCK, (byte) 0);
      var n = Argument.of(BLOCK);
      var waits = launch(device, Kernels.of(DependentKernelsTest::waits), Argument.of(x), n);
      var late =
          launch(
              device,
              Kernels.of(DependentKernelsTest::waitsLate),
              Argument.of(x),
              Argument.of(y),
              n,
              n);
      var never = launch(device, Kernels.of(DependentKernelsTest::neverWaits), Argument.of(x), n);
      stream.launch(waits);
      stream.launch(waits.asDependent());
      stream.launch(late.asDependent());
      var sums = new int[BLOCK];
      stream.download(y, 0, MemorySegment.ofArray(sums));
      assertThat(sums).containsOnly(12);
      stream.launch(waits);
      assertThatThrownBy(() -> stream.launch(never.asDependent()))
          .isInstanceOf(DeviceException.KernelFault.class)
          .hasMessageContaining(
              ", which kernel waits of the previous launch writes (thread (0,0,0) of block (0,0,0)")
          .hasMessageContaining("\" at DependentKernelsTest.java:");
    }
  }

  private static Launch launch(EmulatedDevice device, JavaKernel kernel, Argument... arguments) {
    var module = kernel.module(false);
    assertThat(Printer.print(module)).doesNotContain("ld.global.nc");
    return new Launch(
        device.load(module, module.kernels().getFirst().name()),
        Dim3.of(1),
        Dim3.of(BLOCK),
        0,
        List.of(arguments));
  }
}
