package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.lwjgl.vulkan.VK10.VK_ERROR_DEVICE_LOST;

import dev.athanor.engine.device.DeviceException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class LogicalDeviceTest {

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @Test
  void staysLost() {
    var device = LogicalDevice.open("vulkan:0", VulkanDriver.devices().getFirst(), true);
    device.launched("axpy");
    var message =
        "vulkan:0 is lost: vkQueueSubmit2 failed with VK_ERROR_DEVICE_LOST; it ran the kernels"
            + " axpy";
    assertThatThrownBy(() -> device.check(VK_ERROR_DEVICE_LOST, "vkQueueSubmit2"))
        .isInstanceOf(DeviceException.Lost.class)
        .hasMessage(message);
    assertThatThrownBy(device::requireUsable)
        .isInstanceOf(DeviceException.Lost.class)
        .hasMessage(message);
    device.close();
  }
}
