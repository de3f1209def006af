package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.TensorType;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.StampedLock;
import java.util.function.UnaryOperator;

/**
 * A reference to a tensor, which is not freed before the pin is closed. Its contents may be
 * accessed between {@link #tryLock} and {@link #unlock}; any thread may call either.
 */
public final class Pin implements AutoCloseable {

  /** The kind of access to the contents. */
  public enum Access {
    READ,
    WRITE
  }

  private final TensorStore store;
  private final TensorEntry entry;
  private long stamp;
  private boolean closed;

  Pin(TensorStore store, TensorEntry entry) {
    this.store = store;
    this.entry = entry;
  }

  public String handle() {
    return entry.handle;
  }

  public TensorType type() {
    return entry.type;
  }

  /** Returns the storage that holds the tensor. */
  public DeviceStorage storage() {
    return entry.storage;
  }

  /** Restores a spilled tensor to its device. */
  void restore() {
    store.restore(entry);
  }

  /** Takes a snapshot of the current version; the contents must be locked. */
  public Snapshot snapshot() {
    return store.hold(entry);
  }

  /**
   * Preserves the contents for their current readers. Must be called before a write, while the
   * contents are locked for writing.
   *
   * @param copy enqueues a copy of a buffer into new memory, or throws {@code OutOfMemory}
   */
  public void preserve(UnaryOperator<Buffer> copy) {
    store.preserve(entry, copy);
  }

  /** Returns another pin of the same tensor, even if it was deleted meanwhile. */
  public Pin again() {
    return store.pinAgain(entry);
  }

  /** Returns the tensor on the device. */
  public DeviceTensor tensor() {
    return new DeviceTensor(entry.type, entry.resident());
  }

  /** Returns the current description of the tensor. */
  public TensorInfo info() {
    return store.info(entry);
  }

  /** Returns the current version. */
  public long version() {
    return info().version();
  }

  /** Increments the version after the contents were, or may have been, written. */
  public TensorInfo written() {
    return store.bump(entry);
  }

  /**
   * Tries to acquire the read or write lock of the contents.
   *
   * @param nanos maximum time to wait
   * @return whether the lock was acquired
   */
  public boolean tryLock(Access access, long nanos) throws InterruptedException {
    stamp =
        switch (access) {
          case READ -> entry.contents.tryReadLock(nanos, TimeUnit.NANOSECONDS);
          case WRITE -> entry.contents.tryWriteLock(nanos, TimeUnit.NANOSECONDS);
        };
    return stamp != 0;
  }

  /** Releases the lock. */
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
