package dev.athanor.vulkan;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceCompatibilityKit;
import org.junit.jupiter.api.BeforeAll;

class VulkanDeviceTest extends DeviceCompatibilityKit {

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @Override
  protected Device open() {
    return TestDevice.open();
  }

  /** Accesses outside of buffers are not checked and may end the process. */
  @Override
  protected boolean survivesFaults() {
    return false;
  }
}
