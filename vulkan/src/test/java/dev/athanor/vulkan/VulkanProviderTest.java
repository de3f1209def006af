package dev.athanor.vulkan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.DeviceProvider.Present;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class VulkanProviderTest {

  @BeforeAll
  static void requireDevice() {
    TestDevice.require();
  }

  @Test
  void opensDevicesByName() {
    var present = (Present) new VulkanProvider().probe();
    var opened = Devices.open("vulkan:0");
    try (var device = opened.device()) {
      assertThat(device).isInstanceOf(VulkanDevice.class);
      assertThat(opened.reason()).isEqualTo(present.summary());
      assertThat(present.devices().getFirst().name()).isEqualTo(device.capability().name());
      assertThat(present.devices().getFirst().busId()).isEqualTo(device.busId());
    }
  }

  @Test
  void rejectsMissingDevices() {
    int count = ((Present) new VulkanProvider().probe()).devices().size();
    assertThatThrownBy(() -> new VulkanProvider().open(count))
        .isInstanceOf(DeviceException.Unavailable.class)
        .hasMessageStartingWith(
            "no device vulkan:%d: Vulkan has %d usable device".formatted(count, count))
        .hasMessageEndingWith(", counted from 0");
  }
}
