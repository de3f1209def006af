package dev.athanor.service.run;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Pieces of host memory that tensors pass through between clients and a device, which reaches them
 * itself. They are kept, since page-locking is slow. Nobody waits for one: where all large ones are
 * taken, maybe by clients that are slow to fill them, small ones do, only less well.
 */
final class Staging implements AutoCloseable {

  /** More would not stay in the processor's cache between the socket and the device. */
  static final int LARGE = 1 << 20;

  static final int SMALL = 1 << 16;

  /** How many small pieces are kept that nobody uses. */
  private static final int IDLE = 256;

  private final Device device;
  private final Deque<HostMemory> large = new ArrayDeque<>();
  private final Deque<HostMemory> small = new ArrayDeque<>();

  /** How many large ones may still be allocated. */
  private long more;

  private boolean closed;

  /**
   * Pieces for a device.
   *
   * @param bytes how many the large ones may have together
   */
  Staging(Device device, long bytes) {
    this.device = device;
    more = bytes / LARGE;
  }

  /** A piece that is in use until it is closed. */
  final class Piece implements AutoCloseable {
    private final HostMemory memory;
    private boolean closed;

    private Piece(HostMemory memory) {
      this.memory = memory;
    }

    /** The memory, whose contents are undefined. */
    MemorySegment segment() {
      return memory.segment();
    }

    /** Gives it to the next; no work may use it any more. */
    @Override
    public void close() {
      if (!closed) {
        closed = true;
        giveBack(memory);
      }
    }
  }

  /**
   * A piece for the next of some bytes, which may be larger or smaller than they are.
   *
   * @throws DeviceException when there is no memory for one, or the device is lost
   */
  Piece take(long bytes) {
    return new Piece(bytes > SMALL ? ofLarge() : ofSmall());
  }

  private HostMemory ofLarge() {
    synchronized (this) {
      var idle = large.poll();
      if (idle != null) {
        return idle;
      }
      if (more == 0) {
        return ofSmall();
      }
      more--;
    }
    try {
      return device.allocateHost(LARGE);
    } catch (DeviceException.OutOfMemory e) {
      synchronized (this) {
        more++;
      }
      return ofSmall();
    }
  }

  private HostMemory ofSmall() {
    synchronized (this) {
      var idle = small.poll();
      if (idle != null) {
        return idle;
      }
    }
    return device.allocateHost(SMALL);
  }

  private void giveBack(HostMemory memory) {
    synchronized (this) {
      boolean isLarge = memory.segment().byteSize() == LARGE;
      if (!closed && (isLarge || small.size() < IDLE)) {
        (isLarge ? large : small).push(memory);
        return;
      }
    }
    memory.close();
  }

  /** Frees the pieces, those in use when they are closed. */
  @Override
  public synchronized void close() {
    closed = true;
    large.forEach(HostMemory::close);
    large.clear();
    small.forEach(HostMemory::close);
    small.clear();
  }
}
