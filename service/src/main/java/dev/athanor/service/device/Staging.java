package dev.athanor.service.device;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.HostMemoryPool;
import java.util.concurrent.Semaphore;

/**
 * Pieces of host memory that tensors pass through between clients and a device, which reaches them
 * itself. Nobody waits for one: where all large ones are taken, maybe by clients that are slow to
 * fill them, small ones do, only less well.
 */
public final class Staging {

  /** More would not stay in the processor's cache between the socket and the device. */
  public static final int LARGE = 1 << 20;

  public static final int SMALL = 1 << 16;

  private final HostMemoryPool blocks;
  private final Semaphore large;

  /**
   * Pieces for a device.
   *
   * @param bytes how many the large ones may have together
   */
  Staging(HostMemoryPool blocks, long bytes) {
    this.blocks = blocks;
    large = new Semaphore(Math.toIntExact(bytes / LARGE));
  }

  /**
   * A piece for the next of some bytes: for all of them, or for as many as it suits the device to
   * take at once.
   *
   * @throws DeviceException when there is no memory for one, or the device is lost
   */
  Piece take(long bytes) {
    if (bytes > SMALL && large.tryAcquire()) {
      try {
        return piece(blocks.acquire(LARGE), bytes, large::release);
      } catch (DeviceException.OutOfMemory e) {
        large.release();
      }
    }
    return piece(blocks.acquire(SMALL), bytes, () -> {});
  }

  private Piece piece(HostMemory memory, long bytes, Runnable onReturn) {
    var segment = memory.segment();
    return new Piece(
        segment.asSlice(0, Math.min(bytes, segment.byteSize())),
        () -> {
          blocks.release(memory);
          onReturn.run();
        });
  }
}
