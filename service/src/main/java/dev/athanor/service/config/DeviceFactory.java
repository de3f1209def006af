package dev.athanor.service.config;

import dev.athanor.engine.Devices;
import java.util.List;

/** Opens the devices that the service runs on. */
@FunctionalInterface
public interface DeviceFactory {

  /**
   * Opens devices.
   *
   * @param devices as {@link Devices#openAll} takes them
   * @throws dev.athanor.engine.device.DeviceException.Unavailable when there is no such device
   */
  List<Devices.Opened> open(String devices);
}
