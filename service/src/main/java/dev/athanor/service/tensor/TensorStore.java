package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The resident tensors of all devices, with leases, quotas and spilling. Clients access them
 * through {@link TenantTensors}. Work on a tensor holds a {@link Pin}; a pinned tensor is never
 * freed, and a tensor whose lease has not expired is never evicted.
 */
public final class TensorStore {

  private static final Logger LOG = LoggerFactory.getLogger(TensorStore.class);
  private static final int MAX_TOMBSTONES = 100_000;

  /** The usage of a device; guarded by the store's monitor. */
  static final class Usage {
    int tensors;
    long bytes;
    long spilled;
  }

  /** How a tensor ended. */
  enum End {
    DELETED,
    EXPIRED
  }

  record Tombstone(TenantTensors owner, End end, Instant at, long sequence) {}

  final Handles handles;
  final TensorSettings settings;
  final Clock clock;
  private final QuotaSettings quotas;

  private final Spilling spilling = new Spilling(this);
  private final ReentrantLock monitor = new ReentrantLock();
  private final Map<Tenant, TenantTensors> tenants = new HashMap<>();
  private final Map<String, TensorEntry> entries = new HashMap<>();
  private final LinkedHashMap<String, Tombstone> tombstones = new LinkedHashMap<>();
  private final Map<DeviceStorage, Usage> usage = new HashMap<>();
  private long sequence;

  /** Creates a store with the same quota for all tenants. */
  public TensorStore(Handles handles, TensorSettings settings, Clock clock) {
    this(handles, settings, QuotaSettings.NONE, clock);
  }

  /** Creates a store with quotas that individual tenants may override. */
  public TensorStore(Handles handles, TensorSettings settings, QuotaSettings quotas, Clock clock) {
    this.handles = handles;
    this.settings = settings;
    this.quotas = quotas;
    this.clock = clock;
  }

  /** Returns the tensors of a tenant. */
  public TenantTensors of(Tenant tenant) {
    return guarded(() -> tenants.computeIfAbsent(tenant, this::open));
  }

  private TenantTensors open(Tenant tenant) {
    return new TenantTensors(
        this, quotas.maxBytes(tenant, settings), quotas.maxCount(tenant, settings));
  }

  <T> T guarded(Supplier<T> action) {
    monitor.lock();
    try {
      return action.get();
    } finally {
      monitor.unlock();
    }
  }

  // -- pins

  Pin pinAgain(TensorEntry entry) {
    return guarded(() -> {
      entry.pins++;
      return new Pin(this, entry);
    });
  }

  void unpin(TensorEntry entry) {
    guarded(() -> entry.lastUse = clock.instant());
    releasePin(entry);
  }

  /** Ends a pin that does not count as a use, which would renew the lease. */
  void releasePin(TensorEntry entry) {
    boolean last =
        guarded(() -> {
          entry.pins--;
          return entry.gone && entry.pins == 0;
        });
    if (last) {
      release(List.of(entry));
    }
  }

  TensorInfo info(TensorEntry entry) {
    return guarded(entry::info);
  }

  TensorInfo bump(TensorEntry entry) {
    return guarded(() -> {
      entry.version++;
      return entry.info();
    });
  }

  // -- snapshots

  /** Takes a snapshot of a pinned tensor that is not being written. */
  Snapshot hold(TensorEntry entry) {
    return guarded(() -> {
      if (entry.snapshot == null) {
        entry.snapshot = new Snapshot.Shared(entry);
      }
      return holdAgain(entry.snapshot);
    });
  }

  Snapshot holdAgain(Snapshot.Shared shared) {
    return guarded(() -> {
      shared.readers++;
      return new Snapshot(this, shared);
    });
  }

  @Nullable Buffer copy(Snapshot.Shared shared) {
    return guarded(() -> Optional.ofNullable(shared.copy)).orElse(null);
  }

  /**
   * Preserves the current version of a tensor for its readers before it is overwritten. The copy
   * counts against the owner's quota; without a copy, the readers fail.
   *
   * @param copy enqueues the copy
   */
  void preserve(TensorEntry entry, UnaryOperator<Buffer> copy) {
    var shared =
        guarded(() -> {
          var current = Optional.ofNullable(entry.snapshot);
          entry.snapshot = null;
          return current.filter(_ -> entry.owner.quota().tryTake(entry.type.bytes()));
        });
    if (shared.isEmpty()) {
      return;
    }
    Buffer copied = null;
    try {
      copied = copy.apply(entry.resident());
    } catch (DeviceException.OutOfMemory e) {
      LOG.debug("Not enough device memory to preserve a version that is being read", e);
    } finally {
      keep(shared.get(), copied);
    }
  }

  private void keep(Snapshot.Shared shared, @Nullable Buffer copied) {
    boolean kept =
        guarded(() -> {
          shared.copy = shared.readers > 0 ? copied : null;
          return shared.copy != null;
        });
    if (!kept) {
      discard(shared.entry, copied);
    }
  }

  void releaseSnapshot(Snapshot.Shared shared) {
    var copied =
        guarded(() -> {
          var last = --shared.readers == 0;
          var entry = shared.entry;
          if (last && shared.equals(entry.snapshot)) {
            entry.snapshot = null;
          }
          return last ? Optional.ofNullable(shared.copy) : Optional.<Buffer>empty();
        });
    copied.ifPresent(buffer -> discard(shared.entry, buffer));
  }

  private void discard(TensorEntry entry, @Nullable Buffer copied) {
    if (copied != null) {
      entry.storage.free(copied);
    }
    guarded(() -> {
      entry.owner.quota().refund(entry.type.bytes());
      return true;
    });
  }

  // -- all tenants

  /** Whether the tensor of a handle exists. */
  public boolean lives(String handle) {
    return lives(handle, Long.MAX_VALUE);
  }

  /** Whether the tensor of a handle exists with a version less than {@code version}. */
  public boolean lives(String handle, long version) {
    return guarded(() -> {
      var entry = entries.get(handle);
      return entry != null && !entry.hasExpired(clock.instant()) && entry.version < version;
    });
  }

  /** Returns the bytes of a device's tensors that are spilled to the host. */
  public long spilled(DeviceStorage storage) {
    return guarded(() -> usage(storage).spilled);
  }

  /** Frees the expired tensors of all tenants. */
  public void sweep() {
    var all =
        guarded(() -> {
          var now = clock.instant();
          tombstones.values().removeIf(tombstone -> !remembers(tombstone, now));
          return List.copyOf(tenants.values());
        });
    all.forEach(TenantTensors::sweep);
  }

  /** Returns the number of tensors on a device, including deleted ones that are still in use. */
  public int count(DeviceStorage storage) {
    return guarded(() -> usage(storage).tensors);
  }

  /** Returns the bytes of the tensors on a device. */
  public long bytes(DeviceStorage storage) {
    return guarded(() -> usage(storage).bytes);
  }

  /** Returns the number of tensors that count against quotas, including uploads in progress. */
  public int count() {
    return guarded(
        () -> tenants.values().stream().mapToInt(tenant -> tenant.quota().count()).sum());
  }

  /** Returns the bytes of tensors that count against quotas. */
  public long bytes() {
    return guarded(
        () -> tenants.values().stream().mapToLong(tenant -> tenant.quota().bytes()).sum());
  }

  /**
   * Frees memory of a device: first expired tensors, then by spilling unused tensors to the host,
   * least recently used first.
   *
   * @param bytes the number of bytes needed
   */
  public void spillIdle(DeviceStorage storage, long bytes) {
    sweep();
    spilling.spillIdle(storage, bytes - storage.free());
  }

  /** Restores a pinned tensor to its device if it was spilled. */
  void restore(TensorEntry entry) {
    spilling.restore(entry);
  }

  // -- guarded by the monitor

  /** Returns all tensors. */
  Collection<TensorEntry> entries() {
    return entries.values();
  }

  /** Returns the bytes of all tensors that are spilled to the host. */
  long spilled() {
    return usage.values().stream().mapToLong(device -> device.spilled).sum();
  }

  @Nullable TensorEntry entry(String handle) {
    return entries.get(handle);
  }

  @Nullable Tombstone tombstone(String handle) {
    var tombstone = tombstones.get(handle);
    return tombstone != null && remembers(tombstone, clock.instant()) ? tombstone : null;
  }

  private boolean remembers(Tombstone tombstone, Instant now) {
    return tombstone.at.plus(settings.tombstoneTtl()).isAfter(now);
  }

  long nextSequence() {
    return ++sequence;
  }

  Usage usage(DeviceStorage storage) {
    return usage.computeIfAbsent(storage, _ -> new Usage());
  }

  void put(TensorEntry entry) {
    entries.put(entry.handle, entry);
    var there = usage(entry.storage);
    there.tensors++;
    there.bytes += entry.type.bytes();
  }

  /** Removes tensors and returns those without pins. Tombstones record whether they had expired. */
  List<TensorEntry> remove(List<TensorEntry> removed) {
    var now = clock.instant();
    var idle = new ArrayList<TensorEntry>();
    for (var entry : removed) {
      entries.remove(entry.handle);
      entry.owner.forget(entry);
      entry.gone = true;
      boolean expired = entry.hasExpired(now);
      tombstones.put(
          entry.handle,
          new Tombstone(
              entry.owner,
              expired ? End.EXPIRED : End.DELETED,
              expired ? entry.lastUse.plus(entry.lease) : now,
              entry.sequence));
      if (tombstones.size() > MAX_TOMBSTONES) {
        tombstones.pollFirstEntry();
      }
      if (entry.pins == 0) {
        idle.add(entry);
      }
    }
    return idle;
  }

  /** Frees tensors. Must be called outside the monitor, since freeing waits for the device. */
  void release(List<TensorEntry> idle) {
    for (var entry : idle) {
      if (entry.buffer != null) {
        entry.storage.free(entry.buffer);
      } else if (entry.saved != null) {
        entry.saved.close();
      }
      guarded(() -> {
        var there = usage(entry.storage);
        there.tensors--;
        if (entry.buffer != null) {
          there.bytes -= entry.type.bytes();
        } else {
          there.spilled -= entry.type.bytes();
        }
        entry.owner.quota().refund(entry.type.bytes());
        return true;
      });
    }
  }
}
