package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import org.jspecify.annotations.Nullable;

/**
 * One version of a tensor's contents, for readers that read it piece by piece: whoever overwrites
 * the tensor meanwhile copies that version first. Hold it with {@link Pin#snapshot}.
 */
public final class Snapshot implements AutoCloseable {

  /** What the readers of a version share; guarded by the store's monitor. */
  static final class Shared {
    final TensorStore.Entry entry;
    final TensorInfo info;
    int readers;

    /** The copy that was made before the tensor was overwritten. */
    @Nullable Buffer copy;

    Shared(TensorStore.Entry entry) {
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

  /** The tensor as it was when the snapshot was taken. */
  public TensorInfo info() {
    return shared.info;
  }

  /** Another hold of the same version, to be closed on its own. */
  public Snapshot again() {
    return store.holdAgain(shared);
  }

  /**
   * Returns the copy that holds this version, since the tensor has a newer one; null where there
   * was no memory or no quota for a copy.
   */
  public @Nullable Buffer copy() {
    return store.copy(shared);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      store.letGo(shared);
    }
  }
}
