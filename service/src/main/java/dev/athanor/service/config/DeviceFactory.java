package dev.athanor.service.config;

import dev.athanor.engine.device.Device;

/** Opens the device that the service runs on. */
@FunctionalInterface
public interface DeviceFactory {

  /**
   * Opens a device.
   *
   * @param device auto, emulator, cuda, or cuda:N
   * @throws dev.athanor.engine.device.DeviceException.Unavailable when there is no such device
   */
  Opened open(String device);

  /**
   * An open device.
   *
   * @param reason a sentence that says why it is this one
   */
  record Opened(Device device, String reason) {}
}
