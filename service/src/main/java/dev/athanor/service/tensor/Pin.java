package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.TensorType;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.StampedLock;
import java.util.function.UnaryOperator;

/**
 * A tensor that some work holds. It is not freed before the pin is closed. Its contents may be
 * touched between {@link #tryLock} and {@link #unlock}; any thread may call either.
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
  public DeviceStorage home() {
    return entry.home;
  }

  /** Waits until the tensor is on its device. */
  void bringBack() {
    store.bringBack(entry);
  }

  /** Holds the version that the contents have now; only while they are locked. */
  public Snapshot snapshot() {
    return store.hold(entry);
  }

  /**
   * Copies the contents for those who still read them; only while they are locked for a write, and
   * before anything is written.
   *
   * @param copy enqueues a copy of a buffer into new memory, or throws {@code OutOfMemory}
   */
  public void preserve(UnaryOperator<Buffer> copy) {
    store.preserve(entry, copy);
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
   * @param nanos how long to wait at most
   * @return whether the contents are locked now
   */
  public boolean tryLock(Access access, long nanos) throws InterruptedException {
    stamp =
        switch (access) {
          case READ -> entry.contents.tryReadLock(nanos, TimeUnit.NANOSECONDS);
          case WRITE -> entry.contents.tryWriteLock(nanos, TimeUnit.NANOSECONDS);
        };
    return stamp != 0;
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
