package dev.athanor.service.config;

import dev.athanor.engine.Devices;

/** Opens the device that the service runs on. */
@FunctionalInterface
public interface DeviceFactory {

  /**
   * Opens a device.
   *
   * @param device auto, emulator, cuda, or cuda:N
   * @throws dev.athanor.engine.device.DeviceException.Unavailable when there is no such device
   */
  Devices.Opened open(String device);
}
