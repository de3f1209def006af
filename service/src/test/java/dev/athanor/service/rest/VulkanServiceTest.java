package dev.athanor.service.rest;

import dev.athanor.service.AthanorApplication;
import dev.athanor.testing.TestTier;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.test.context.TestPropertySource;

/** Runs tests of the service with a Vulkan device instead of the emulator, or beside it. */
@Tag(TestTier.THOROUGH_TAG)
@EnabledIf("dev.athanor.service.Vulkan#isPresent")
class VulkanServiceTest {

  @Retention(RetentionPolicy.RUNTIME)
  @SpringBootTest(
      classes = AthanorApplication.class,
      properties = {"athanor.device=vulkan:0", "athanor.tuning.cache=none.json"},
      webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
  private @interface OnVulkan {}

  @Nested
  @OnVulkan
  class Views extends ViewsTest {}

  @Nested
  @OnVulkan
  class InPlace extends InPlaceTest {}

  @Nested
  @OnVulkan
  class EmptyTensors extends EmptyTensorsTest {}

  @Nested
  @OnVulkan
  class OpsAndPipelines extends MatmulTest {}

  @Nested
  @OnVulkan
  class Weights extends WeightsTest {}

  @Nested
  @OnVulkan
  @TestPropertySource(properties = "athanor.device=emulator:0,vulkan:0")
  class BesideTheEmulator extends SeveralDevicesTest {}
}
