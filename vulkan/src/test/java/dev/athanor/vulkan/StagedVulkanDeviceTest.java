package dev.athanor.vulkan;

import dev.athanor.engine.device.Device;

/** The tests of a device whose memory the host cannot access. */
class StagedVulkanDeviceTest extends VulkanDeviceTest {

  @Override
  protected Device open() {
    return TestDevice.open(false);
  }
}
