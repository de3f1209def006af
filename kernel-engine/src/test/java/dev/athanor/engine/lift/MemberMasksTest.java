package dev.athanor.engine.lift;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException.KernelFault;
import dev.athanor.engine.emulator.EmulatedDevice;
import dev.athanor.engine.emulator.options.EmulatorOptions;
import dev.athanor.engine.emulator.options.EmulatorOptions.Sanitize;
import java.util.Arrays;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;

/** Warp operations among some lanes of a warp, in plain Java and on the emulator. */
class MemberMasksTest {

  private static final int THREADS = 64;
  private static final int LOWER = 0xFFFF;

  @GpuKernel(blockSize = THREADS)
  static void halves(int[] ints, long[] longs, float[] floats, double[] doubles, int[] votes) {
    int[] shared = Gpu.sharedInts(THREADS);
    int i = Gpu.threadIdxX();
    int lane = Gpu.laneId();
    int members = lane < 16 ? LOWER : ~LOWER;
    if (lane < 16) {
      ints[i] = Gpu.shuffle(i, 3, members);
      longs[i] = Gpu.shuffleXor(1L << lane, 5, members);
      floats[i] = Gpu.shuffleUp(i / 2f, 1, members);
      doubles[i] = Gpu.shuffle(i / 3.0, 15, members);
      votes[i] = Gpu.ballot(lane % 3 == 0, members);
    } else {
      shared[i] = i;
      Gpu.warpBarrier(members);
      ints[i] = shared[i ^ 1];
      longs[i] = Gpu.shuffle(-1L - i, lane | 16, members);
      floats[i] = Gpu.shuffleXor(i / 2f, 8, members);
      doubles[i] = Gpu.shuffleDown(i / 3.0, 1, members);
      votes[i] = (Gpu.any(lane == 20, members) ? 1 : 0) + (Gpu.all(lane > 15, members) ? 2 : 0);
    }
  }

  @Test
  void halvesOfAWarpWorkApart() {
    var inJava = results(Kernels.of(MemberMasksTest.class, "halves").inJava()::launch);
    for (int i = 0; i < THREADS; i++) {
      int lane = i % 32;
      boolean lower = lane < 16;
      assertThat(((int[]) inJava[0])[i]).isEqualTo(lower ? i - lane + 3 : i ^ 1);
      assertThat(((long[]) inJava[1])[i]).isEqualTo(lower ? 1L << (lane ^ 5) : -1L - i);
      assertThat(((float[]) inJava[2])[i]).isEqualTo((lower ? lane == 0 ? i : i - 1 : i ^ 8) / 2f);
      assertThat(((double[]) inJava[3])[i])
          .isEqualTo((lower ? i - lane + 15 : lane == 31 ? i : i + 1) / 3.0);
      assertThat(((int[]) inJava[4])[i]).isEqualTo(lower ? 0b1001_0010_0100_1001 : 3);
    }
    try (var device = new EmulatedDevice(EmulatorOptions.DEFAULT.withSanitize(Sanitize.FULL))) {
      var kernel = Kernels.of(MemberMasksTest.class, "halves").on(device);
      assertThat(Arrays.deepEquals(results(kernel::launch), inJava)).isTrue();
    }
  }

  private static Object[] results(BiConsumer<Integer, Object[]> launch) {
    var results =
        new Object[] {
          new int[THREADS],
          new long[THREADS],
          new float[THREADS],
          new double[THREADS],
          new int[THREADS]
        };
    launch.accept(1, results);
    return results;
  }

  @GpuKernel(blockSize = 32)
  static void outside(int[] x) {
    x[Gpu.laneId()] = Gpu.shuffle(x[Gpu.laneId()], 0, LOWER);
  }

  @GpuKernel(blockSize = 32)
  static void asksOutside(int[] x) {
    if (Gpu.laneId() < 16) {
      x[Gpu.laneId()] = Gpu.shuffle(x[Gpu.laneId()], 20, LOWER);
    }
  }

  @GpuKernel(blockSize = 32)
  static void masksDiffer(int[] x) {
    x[Gpu.laneId()] = Gpu.ballot(true, Gpu.laneId() < 16 ? -1 : ~LOWER | 1);
  }

  @Test
  void saysWhatIsWrongWithAMask() {
    assertThatThrownBy(() -> launchInJava("outside"))
        .isInstanceOf(KernelFault.class)
        .hasMessageContaining("comes to shuffle (MemberMasksTest.java:")
        .hasMessageContaining("is not in the mask 0xffff");
    assertThatThrownBy(() -> launchInJava("asksOutside"))
        .isInstanceOf(KernelFault.class)
        .hasMessageContaining("asks for the value of lane 20, which is not in the mask 0xffff");
    assertThatThrownBy(() -> launchInJava("masksDiffer"))
        .isInstanceOf(KernelFault.class)
        .hasMessageContaining("all threads wait for others: lanes 0-31 wait at ballot");
  }

  private static void launchInJava(String kernel) {
    Kernels.of(MemberMasksTest.class, kernel).inJava().launch(1, (Object) new int[32]);
  }
}
