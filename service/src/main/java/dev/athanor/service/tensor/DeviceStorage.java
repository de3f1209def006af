package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import java.lang.foreign.MemorySegment;

/** The storage of a device, as the tensor store sees it. */
public interface DeviceStorage {

  /** Returns the number of the device, from 0. */
  int number();

  /** Returns the id of the device, such as {@code cuda:0}. */
  String id();

  /** Whether the device is lost. */
  boolean isLost();

  /**
   * Copies memory to the host; no work may write it meanwhile.
   *
   * @param target of the buffer's size
   * @throws dev.athanor.service.failure.Failure if the device reports a fault
   */
  void read(Buffer buffer, MemorySegment target);

  /** Returns the free memory in bytes. */
  long free();

  /**
   * Saves memory that no work uses to newly allocated host memory.
   *
   * @throws dev.athanor.service.failure.Failure if host memory does not suffice or the device
   *     reports a fault
   */
  HostMemory save(Buffer buffer);

  /**
   * Allocates memory with saved contents. The saved copy remains.
   *
   * @throws dev.athanor.service.failure.Failure if the device is full or reports a fault
   */
  Buffer restore(HostMemory saved);

  /** Frees memory that no work uses any more. */
  void free(Buffer buffer);
}
