package dev.athanor.service.device;

/** Cached state of a device that can be rebuilt. */
public interface DeviceCache extends AutoCloseable {

  /** Discards everything because plans have changed. */
  void forget();

  /** Frees the device memory that is not in use. */
  void evictIdle();

  @Override
  void close();
}
