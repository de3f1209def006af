package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import org.junit.jupiter.api.Test;

/** Barriers of the whole grid, in plain Java and on the emulator. */
class GridBarrierTest {

  /** Moves all elements by one block per turn. */
  @GpuKernel(blockSize = {8, 4, 2})
  static void rotate(int[] from, int[] to, int turns) {
    int blocks = Gpu.gridDimX() * Gpu.gridDimY();
    int block = Gpu.blockIdxX() + Gpu.gridDimX() * Gpu.blockIdxY();
    int thread = Gpu.threadIdxX() + 8 * (Gpu.threadIdxY() + 4 * Gpu.threadIdxZ());
    for (int turn = 0; turn < turns; turn++) {
      int mine = 64 * block + thread;
      int other = 64 * ((block + 1) % blocks) + thread;
      if (turn % 2 == 0) {
        to[mine] = from[other];
      } else {
        from[mine] = to[other];
      }
      Gpu.gridBarrier();
    }
  }

  @GpuKernel(blockSize = 32)
  static void leaves(int[] x) {
    if (Gpu.blockIdxX() != 1) {
      Gpu.gridBarrier();
      x[Gpu.blockIdxX()] = 1;
    }
  }

  @GpuKernel(blockSize = 32)
  static void fails(int[] x) {
    if (Gpu.blockIdxX() == 2) {
      x[-1] = 0;
    }
    Gpu.gridBarrier();
  }

  private interface Launch {
    void launch(Dim3 grid, Object... arguments);
  }

  @Test
  void everyBlockSeesWhatTheOthersWrote() {
    checkRotation(Kernels.of(GridBarrierTest::rotate).inJava()::launch);
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      checkRotation(Kernels.of(GridBarrierTest::rotate).on(device)::launch);
    }
  }

  private static void checkRotation(Launch kernel) {
    int[] from = new int[6 * 64];
    for (int i = 0; i < from.length; i++) {
      from[i] = i;
    }
    int[] to = new int[from.length];
    kernel.launch(Dim3.of(3, 2), from, to, 5);
    for (int i = 0; i < to.length; i++) {
      assertThat(to[i]).isEqualTo((i + 5 * 64) % to.length);
    }
  }

  @Test
  void aGridThatDoesNotFitIsRefused() {
    try (var device = new EmulatedDevice()) {
      var kernel = Kernels.of(GridBarrierTest::rotate).on(device);
      assertThatThrownBy(() -> kernel.launch(100_000, new int[1], new int[1], 0))
          .hasMessageContaining("a cooperative grid of 100000 blocks of 8x4x2 threads; only");
    }
  }

  @Test
  void blocksThatNeverComeEndTheLaunchInPlainJava() {
    var leaves = Kernels.of(GridBarrierTest.class, "leaves").inJava();
    assertThatThrownBy(() -> leaves.launch(3, (Object) new int[3]))
        .isInstanceOf(KernelFault.class)
        .hasMessageContaining("the grid waits at gridBarrier (GridBarrierTest.java:")
        .hasMessageContaining("but 1 of 3 blocks have left the kernel or failed");
    var fails = Kernels.of(GridBarrierTest.class, "fails").inJava();
    assertThatThrownBy(() -> fails.launch(3, (Object) new int[3]))
        .isInstanceOf(KernelFault.class)
        .hasMessageContaining("block (2,0,0) thread (")
        .hasMessageContaining("ArrayIndexOutOfBoundsException");
  }
}
