package dev.athanor.service.device;

/** State that is kept for a device to save time and can be built again. */
public interface DeviceCache extends AutoCloseable {

  /** Discards everything, since plans have changed. */
  void forget();

  /** Frees the device memory that is not in use. */
  void makeRoom();

  @Override
  void close();
}
