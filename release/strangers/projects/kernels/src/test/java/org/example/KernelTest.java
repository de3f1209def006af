package org.example;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import dev.athanor.junit.GpuTest;
import java.util.stream.IntStream;

class KernelTest {

  @GpuKernel(blockSize = 64)
  static void reverse(int[] data) {
    int[] tile = Gpu.sharedInts(64);
    int i = Gpu.threadIdxX();
    tile[i] = data[i];
    Gpu.barrier();
    data[i] = tile[63 - i];
  }

  @GpuKernel(blockSize = 64)
  static void race(int[] data) {
    int[] tile = Gpu.sharedInts(64);
    int i = Gpu.threadIdxX();
    tile[i] = data[i];
    data[i] = tile[63 - i];
  }

  @GpuTest
  void reverses(Device device) {
    int[] data = IntStream.range(0, 64).toArray();
    Kernels.of(KernelTest::reverse).on(device).launch(1, (Object) data);
    assertEquals(63, data[0]);
  }

  @GpuTest(gpu = false)
  void findsTheRace(Device device) {
    int[] data = new int[64];
    var kernel = Kernels.of(KernelTest::race).on(device);
    assertThrows(DeviceException.KernelFault.class, () -> kernel.launch(1, (Object) data));
  }
}
