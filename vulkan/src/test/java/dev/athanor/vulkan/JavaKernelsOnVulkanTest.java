package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.Kernels;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class JavaKernelsOnVulkanTest {

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @GpuKernel
  static void waitInBranches(int[] values) {
    if (values[Gpu.threadIdxX()] > 0) {
      values[0] = 1;
      Gpu.barrier();
      values[1] = 2;
    } else {
      values[2] = 3;
      Gpu.barrier();
      values[3] = 4;
    }
  }

  @Test
  void saysWhyAKernelIsNotLoaded() {
    try (var device = TestDevice.open()) {
      try (var stream = device.openStream();
          var earlier = device.allocate(4096)) {
        stream.fill(earlier, 0, 4096, (byte) 1); // what the kernel's memory contains
        stream.synchronize();
      }
      var kernel =
          Kernels.of(JavaKernelsOnVulkanTest.class, "waitInBranches").on(device).checked(true);
      assertThatThrownBy(() -> kernel.block(Dim3.of(64)).launch(Dim3.of(1), new int[64]))
          .isInstanceOf(DeviceException.LoadFailed.class)
          .hasMessageContaining("may wait at a barrier in different branches");
    }
  }
}
