package dev.athanor.service.rest;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.test.context.SpringBootTest;

/** Runs tests of the service with a Vulkan device instead of the emulator. */
@Tag(TestTier.THOROUGH_TAG)
@EnabledIf(
    value = "hasVulkan",
    disabledReason = "SKIPPED: no Vulkan device; apt-get install mesa-vulkan-drivers")
class VulkanServiceTest {

  private static final String DEVICE = "athanor.device=vulkan:0";

  static boolean hasVulkan() {
    try {
      Devices.open("vulkan:0").device().close();
      return true;
    } catch (DeviceException.Unavailable e) {
      System.err.println("SKIPPED: " + e.getMessage());
      return false;
    }
  }

  @Nested
  @SpringBootTest(
      classes = AthanorApplication.class,
      properties = DEVICE,
      webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
  class Views extends ViewsTest {}

  @Nested
  @SpringBootTest(
      classes = AthanorApplication.class,
      properties = DEVICE,
      webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
  class InPlace extends InPlaceTest {}

  @Nested
  @SpringBootTest(
      classes = AthanorApplication.class,
      properties = DEVICE,
      webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
  class Tensors extends EmptyTensorsTest {}
}
