package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import java.lang.foreign.MemorySegment;

/** A device, to the tensors that lie on it. */
public interface Home {

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

  /** Gives memory back that no work uses any more. */
  void free(Buffer buffer);
}
