package dev.athanor.vulkan;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceProvider;

/** Opens Vulkan devices by name: {@code vulkan:0} is the first usable device of the loader. */
public final class VulkanProvider implements DeviceProvider {

  @Override
  public String kind() {
    return "vulkan";
  }

  @Override
  public Probe probe() {
    return VulkanDriver.probe();
  }

  @Override
  public Device open(int number) {
    return VulkanDevice.open(number);
  }
}
