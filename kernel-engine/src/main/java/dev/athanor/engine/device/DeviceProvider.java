package dev.athanor.engine.device;

import java.util.List;
import java.util.Optional;

/** Opens the devices of one kind. Providers are found by {@link java.util.ServiceLoader}. */
public interface DeviceProvider {

  /** Returns the kind in device IDs, such as {@code vulkan}. */
  String kind();

  /** Looks for the devices of this kind. */
  Probe probe();

  /**
   * Opens a device.
   *
   * @param number index of the device in {@link Present#devices}
   * @throws DeviceException.Unavailable if the device cannot be opened
   */
  Device open(int number);

  /** The result of {@link #probe}. */
  sealed interface Probe {}

  /**
   * A driver with at least one device.
   *
   * @param summary the driver and its devices, such as {@code Vulkan has 1 device}
   */
  record Present(String summary, List<Found> devices) implements Probe {
    public Present {
      devices = List.copyOf(devices);
    }
  }

  /**
   * No device of this kind is usable.
   *
   * @param reason the reason, in one sentence
   */
  record Absent(String reason) implements Probe {}

  /**
   * A device that can be opened.
   *
   * @param name the vendor's name
   * @param hardware whether it is a GPU, not a driver that runs on the CPU
   * @param busId the PCI bus ID as {@link Device#busId} returns it, if known
   */
  record Found(String name, boolean hardware, Optional<String> busId) {}
}
