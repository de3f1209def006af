package dev.athanor.service.tensor;

import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Deadline;
import dev.athanor.service.failure.Failure;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.StampedLock;

/**
 * A tensor that some work holds. It is not freed before the pin is closed. Its contents may be
 * touched between {@link #lock} and {@link #unlock}; any thread may call either.
 */
public final class Pin implements AutoCloseable {

  /** What the work does with the contents. */
  public enum Access {
    READ,
    WRITE
  }

  private final TensorStore store;
  private final TensorStore.Entry entry;
  private long stamp;
  private boolean closed;

  Pin(TensorStore store, TensorStore.Entry entry) {
    this.store = store;
    this.entry = entry;
  }

  public String handle() {
    return entry.handle;
  }

  public TensorType type() {
    return entry.type;
  }

  /** The device on which it lies. */
  public Home home() {
    return entry.home;
  }

  /** Waits until the tensor is on its device. */
  void bringBack() {
    store.bringBack(entry);
  }

  /** Another pin of the same tensor, even if it was deleted meanwhile. */
  public Pin again() {
    return store.pinAgain(entry);
  }

  /** The tensor on the device. */
  public DeviceTensor tensor() {
    return new DeviceTensor(entry.type, entry.resident());
  }

  /** What the tensor is now. */
  public TensorInfo info() {
    return store.info(entry);
  }

  /** How often the contents were written. */
  public long version() {
    return info().version();
  }

  /** Says that the contents were written, or may have been. */
  public TensorInfo written() {
    return store.bump(entry);
  }

  /**
   * Waits until nobody writes the contents, and to write them until nobody reads them.
   *
   * @throws Failure.TooLate when the deadline passes first
   */
  public void lock(Access access, Deadline deadline) {
    long wait = Math.max(deadline.remainingNanos(), 0);
    try {
      stamp =
          switch (access) {
            case READ -> entry.contents.tryReadLock(wait, TimeUnit.NANOSECONDS);
            case WRITE -> entry.contents.tryWriteLock(wait, TimeUnit.NANOSECONDS);
          };
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new Failure.Busy(
          Failure.Code.DRAINING, "the service is shutting down", Duration.ofSeconds(5));
    }
    if (stamp == 0) {
      throw new Failure.TooLate(deadline);
    }
  }

  /** Lets others at the contents. */
  public void unlock() {
    if (StampedLock.isLockStamp(stamp)) {
      entry.contents.unlock(stamp);
      stamp = 0;
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      unlock();
      store.unpin(entry);
    }
  }
}
