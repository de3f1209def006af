package dev.athanor.service;

import dev.athanor.engine.Devices;
import dev.athanor.engine.device.DeviceException;

/** The Vulkan device of tests, which may be a driver that runs on the CPU. */
public final class Vulkan {

  private Vulkan() {}

  /** Returns whether there is a device; reports it if not. */
  public static boolean isPresent() {
    try {
      Devices.open("vulkan:0").device().close();
      return true;
    } catch (DeviceException.Unavailable e) {
      System.err.println(
          "SKIPPED: Vulkan was not tested: %s; apt-get install mesa-vulkan-drivers"
              .formatted(e.getMessage()));
      return false;
    }
  }
}
