package dev.athanor.vulkan;

import dev.athanor.engine.device.DeviceProvider.Absent;
import org.junit.jupiter.api.Assumptions;

/** The first Vulkan device of this machine, which may be a driver that runs on the CPU. */
public final class TestDevice {

  private TestDevice() {}

  /** Skips the tests of a machine without a Vulkan device. */
  public static void require() {
    if (VulkanDriver.probe() instanceof Absent(String reason)) {
      var skipped =
          "SKIPPED: the Vulkan device was not tested: %s; apt-get install mesa-vulkan-drivers"
              .formatted(reason);
      System.err.println(skipped);
      Assumptions.abort(skipped);
    }
  }

  public static VulkanDevice open() {
    return open(true);
  }

  /** Opens the device, if not direct without direct access of the host to its memory. */
  static VulkanDevice open(boolean direct) {
    return VulkanDevice.open(0, direct);
  }
}
