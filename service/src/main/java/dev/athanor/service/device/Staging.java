package dev.athanor.service.device;

import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.engine.device.HostMemoryPool;
import java.util.concurrent.Semaphore;

/**
 * Pinned host memory for transfers between clients and a device. Transfers never wait for a piece:
 * if slow clients hold all large pieces, small ones are used, which are less efficient.
 */
public final class Staging {

  /**
   * Size of a large piece in bytes. Larger ones would not stay in the CPU cache between socket and
   * device.
   */
  public static final int LARGE = 1 << 20;

  /** Size of a small piece in bytes. */
  public static final int SMALL = 1 << 16;

  private final HostMemoryPool blocks;
  private final Semaphore large;

  /**
   * Creates the staging memory of a device.
   *
   * @param bytes maximum total size of large pieces
   */
  Staging(HostMemoryPool blocks, long bytes) {
    this.blocks = blocks;
    large = new Semaphore(Math.toIntExact(bytes / LARGE));
  }

  /**
   * Takes a piece for a transfer of {@code bytes} bytes; it may be smaller than that.
   *
   * @throws DeviceException if memory does not suffice or the device is lost
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
