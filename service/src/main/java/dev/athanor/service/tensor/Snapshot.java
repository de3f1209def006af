package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * One version of a tensor's contents, for reading in pieces. A writer preserves the version before
 * it overwrites the tensor (copy-on-write). Taken with {@link Pin#snapshot}.
 */
public final class Snapshot implements AutoCloseable {

  /** State shared by the readers of a version; guarded by the store's monitor. */
  static final class Shared {
    final TensorEntry entry;
    final TensorInfo info;
    int readers;

    /** The copy made before the tensor was overwritten. */
    @Nullable Buffer copy;

    Shared(TensorEntry entry) {
      this.entry = entry;
      info = entry.info();
    }
  }

  private final TensorStore store;
  private final Shared shared;
  private boolean closed;

  Snapshot(TensorStore store, Shared shared) {
    this.store = store;
    this.shared = shared;
  }

  /** Returns the description of the tensor at the time of the snapshot. */
  public TensorInfo info() {
    return shared.info;
  }

  /** Returns another snapshot of the same version, which must be closed separately. */
  public Snapshot again() {
    return store.holdAgain(shared);
  }

  /**
   * Returns the copy of this version; null if the tensor was not overwritten, or if memory or quota
   * did not suffice for a copy.
   */
  public @Nullable Buffer copy() {
    return store.copy(shared);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      store.releaseSnapshot(shared);
    }
  }
}
