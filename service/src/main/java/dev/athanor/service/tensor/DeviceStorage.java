package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import java.lang.foreign.MemorySegment;

/** A device, to the tensors that lie on it. */
public interface DeviceStorage {

  /** Its place among the devices of the service, from 0. */
  int number();

  /** Its id: {@code cuda:0}. */
  String id();

  /** Whether it is gone for good, and all that lay on it. */
  boolean isLost();

  /**
   * Copies memory that no work writes to the host.
   *
   * @param target of the buffer's size
   * @throws dev.athanor.service.failure.Failure what a fault of the device means
   */
  void read(Buffer buffer, MemorySegment target);

  /** How much can still be allocated, in bytes. */
  long free();

  /**
   * Copies memory that no work uses to host memory of its own.
   *
   * @throws dev.athanor.service.failure.Failure when there is no host memory, or what a fault of
   *     the device means
   */
  HostMemory save(Buffer buffer);

  /**
   * Allocates memory with the contents of some that was saved, which is kept.
   *
   * @throws dev.athanor.service.failure.Failure when the device is full, or what its fault means
   */
  Buffer restore(HostMemory saved);

  /** Gives memory back that no work uses any more. */
  void free(Buffer buffer);
}
