package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.service.failure.Failure;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Moves unused tensors of a {@link TensorStore} to host memory and back. */
final class Spilling {

  private static final Logger LOG = LoggerFactory.getLogger(Spilling.class);

  private final TensorStore store;

  Spilling(TensorStore store) {
    this.store = store;
  }

  /**
   * Spills unused tensors of a device, least recently used first.
   *
   * @param needed the number of bytes to free
   */
  void spillIdle(DeviceStorage storage, long needed) {
    boolean canSpill = true;
    for (var entry : idle(storage, needed)) {
      try {
        if (canSpill) {
          spill(entry);
        }
      } catch (Failure e) {
        LOG.warn("Spilling tensors to the host failed: {}", e.getMessage());
        canSpill = false;
      } finally {
        store.releasePin(entry);
      }
    }
  }

  /** Selects and pins tensors to spill. */
  private List<TensorEntry> idle(DeviceStorage storage, long needed) {
    return store.guarded(() -> {
      long available = store.settings.spillBytes() - store.spilled();
      var idle =
          store.entries().stream()
              .filter(
                  entry -> entry.storage.equals(storage) && entry.pins == 0 && entry.buffer != null)
              .sorted(Comparator.comparing(entry -> entry.lastUse))
              .toList();
      var chosen = new ArrayList<TensorEntry>();
      long bytes = 0;
      for (var entry : idle) {
        long more = entry.type.bytes();
        if (bytes < needed && bytes + more <= available) {
          bytes += more;
          entry.pins++;
          chosen.add(entry);
        }
      }
      return chosen;
    });
  }

  private void spill(TensorEntry entry) {
    entry.moving.lock();
    try {
      // another pin may have used or released the tensor meanwhile
      if (entry.buffer == null || !store.guarded(() -> entry.pins == 1)) {
        return;
      }
      var buffer = entry.buffer;
      var saved = entry.storage.save(buffer);
      store.guarded(() -> move(entry, null, saved));
      entry.storage.free(buffer);
    } finally {
      entry.moving.unlock();
    }
  }

  /** Restores a pinned tensor to its device if it was spilled. */
  void restore(TensorEntry entry) {
    if (store.settings.spillBytes() == 0) {
      return;
    }
    entry.moving.lock();
    try {
      var saved = entry.saved;
      if (saved != null) {
        var buffer = entry.storage.restore(saved);
        store.guarded(() -> move(entry, buffer, null));
        saved.close();
      }
    } finally {
      entry.moving.unlock();
    }
  }

  private TensorEntry move(TensorEntry entry, @Nullable Buffer buffer, @Nullable HostMemory saved) {
    long toHost = saved == null ? -entry.type.bytes() : entry.type.bytes();
    entry.buffer = buffer;
    entry.saved = saved;
    var there = store.usage(entry.storage);
    there.bytes -= toHost;
    there.spilled += toHost;
    return entry;
  }
}
