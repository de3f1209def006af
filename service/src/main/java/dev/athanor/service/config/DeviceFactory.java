package dev.athanor.service.config;

import dev.athanor.engine.Devices;
import java.util.List;

/** Opens the devices of the service. */
@FunctionalInterface
public interface DeviceFactory {

  /**
   * Opens devices.
   *
   * @param devices the devices in the syntax of {@link Devices#openAll}
   * @throws dev.athanor.engine.device.DeviceException.Unavailable if a device does not exist
   */
  List<Devices.Opened> open(String devices);
}
