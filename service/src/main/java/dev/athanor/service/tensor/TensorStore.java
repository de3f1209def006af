package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.HostMemory;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
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
  private static final class Usage {
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

  /** The state of a tensor; guarded by the store's monitor except {@link #contents}. */
  static final class Entry {
    final TenantTensors owner;
    final String handle;
    final TensorOptions options;
    final TensorType type;
    final DeviceStorage storage;
    final long sequence;
    final Instant createdAt;

    /** Held while the contents move between device and host. */
    final ReentrantLock moving = new ReentrantLock();

    /** The contents: exactly one of these is not null. */
    @Nullable Buffer buffer;

    @Nullable HostMemory saved;

    /** Held while the contents are read or written on the device. */
    final StampedLock contents = new StampedLock();

    Duration lease;
    Instant lastUse;
    long version = 1;

    /** Under which it is stored, or a label. */
    @Nullable String name;

    /** What its copies have in common if it is stored under its name. */
    NamedTensors.@Nullable Copy copy;

    int pins;
    boolean gone;

    /** The snapshot of the current version, if it has readers. */
    Snapshot.@Nullable Shared snapshot;

    Entry(
        TenantTensors owner,
        String handle,
        TensorOptions options,
        TensorType type,
        DeviceStorage storage,
        Buffer buffer,
        long sequence,
        Instant now,
        Duration lease) {
      this.owner = owner;
      this.handle = handle;
      this.options = options;
      this.name = options.name();
      this.type = type;
      this.storage = storage;
      this.buffer = buffer;
      this.sequence = sequence;
      this.createdAt = now;
      this.lastUse = now;
      this.lease = lease;
    }

    Buffer resident() {
      return Objects.requireNonNull(buffer, "a pinned tensor is on the device");
    }

    boolean hasExpired(Instant now) {
      return pins == 0 && !lease.isZero() && !lastUse.plus(lease).isAfter(now);
    }

    TensorInfo info() {
      return new TensorInfo(
          handle,
          name,
          copy == null ? null : copy.replicas(),
          options.scope(),
          type,
          storage.id(),
          version,
          createdAt,
          lease.isZero() ? null : lastUse.plus(lease));
    }
  }

  final Handles handles;
  final TensorSettings settings;
  final Clock clock;
  private final QuotaSettings quotas;

  private final ReentrantLock monitor = new ReentrantLock();
  private final Map<Tenant, TenantTensors> tenants = new HashMap<>();
  private final Map<String, Entry> entries = new HashMap<>();
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

  Pin pinAgain(Entry entry) {
    return guarded(() -> {
      entry.pins++;
      return new Pin(this, entry);
    });
  }

  void unpin(Entry entry) {
    guarded(() -> entry.lastUse = clock.instant());
    releasePin(entry);
  }

  private void releasePin(Entry entry) {
    boolean last =
        guarded(() -> {
          entry.pins--;
          return entry.gone && entry.pins == 0;
        });
    if (last) {
      release(List.of(entry));
    }
  }

  TensorInfo info(Entry entry) {
    return guarded(entry::info);
  }

  TensorInfo bump(Entry entry) {
    return guarded(() -> {
      entry.version++;
      return entry.info();
    });
  }

  // -- snapshots

  /** Takes a snapshot of a pinned tensor that is not being written. */
  Snapshot hold(Entry entry) {
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
  void preserve(Entry entry, UnaryOperator<Buffer> copy) {
    var shared =
        guarded(() -> {
          var current = Optional.ofNullable(entry.snapshot);
          entry.snapshot = null;
          return current.filter(_ -> entry.owner.tryTake(entry.type.bytes()));
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

  private void discard(Entry entry, @Nullable Buffer copied) {
    if (copied != null) {
      entry.storage.free(copied);
    }
    guarded(() -> {
      entry.owner.refund(entry.type.bytes());
      return true;
    });
  }

  // -- spilling

  /**
   * Frees memory of a device: first expired tensors, then by spilling unused tensors to the host,
   * least recently used first.
   *
   * @param bytes the number of bytes needed
   */
  public void spillIdle(DeviceStorage storage, long bytes) {
    sweep();
    long needed = bytes - storage.free();
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
        releasePin(entry); // does not count as a use that renews the lease
      }
    }
  }

  /** Selects and pins tensors to spill. */
  private List<Entry> idle(DeviceStorage storage, long needed) {
    return guarded(() -> {
      long available =
          settings.spillBytes() - usage.values().stream().mapToLong(u -> u.spilled).sum();
      var idle =
          entries.values().stream()
              .filter(
                  entry -> entry.storage.equals(storage) && entry.pins == 0 && entry.buffer != null)
              .sorted(Comparator.comparing(entry -> entry.lastUse))
              .toList();
      var chosen = new ArrayList<Entry>();
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

  private void spill(Entry entry) {
    entry.moving.lock();
    try {
      // another pin may have used or released the tensor meanwhile
      if (entry.buffer == null || !guarded(() -> entry.pins == 1)) {
        return;
      }
      var buffer = entry.buffer;
      var saved = entry.storage.save(buffer);
      guarded(() -> move(entry, null, saved));
      entry.storage.free(buffer);
    } finally {
      entry.moving.unlock();
    }
  }

  /** Restores a pinned tensor to its device if it was spilled. */
  void restore(Entry entry) {
    if (settings.spillBytes() == 0) {
      return;
    }
    entry.moving.lock();
    try {
      var saved = entry.saved;
      if (saved != null) {
        var buffer = entry.storage.restore(saved);
        guarded(() -> move(entry, buffer, null));
        saved.close();
      }
    } finally {
      entry.moving.unlock();
    }
  }

  private Entry move(Entry entry, @Nullable Buffer buffer, @Nullable HostMemory saved) {
    long toHost = saved == null ? -entry.type.bytes() : entry.type.bytes();
    entry.buffer = buffer;
    entry.saved = saved;
    var there = usage(entry.storage);
    there.bytes -= toHost;
    there.spilled += toHost;
    return entry;
  }

  // -- all tenants

  /** Whether the tensor of a handle exists. */
  public boolean lives(String handle) {
    return guarded(() -> {
      var entry = entries.get(handle);
      return entry != null && !entry.hasExpired(clock.instant());
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
    return guarded(() -> tenants.values().stream().mapToInt(TenantTensors::charged).sum());
  }

  /** Returns the bytes of tensors that count against quotas. */
  public long bytes() {
    return guarded(() -> tenants.values().stream().mapToLong(TenantTensors::chargedBytes).sum());
  }

  // -- guarded by the monitor

  @Nullable Entry entry(String handle) {
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

  private Usage usage(DeviceStorage storage) {
    return usage.computeIfAbsent(storage, _ -> new Usage());
  }

  void put(Entry entry) {
    entries.put(entry.handle, entry);
    var there = usage(entry.storage);
    there.tensors++;
    there.bytes += entry.type.bytes();
  }

  /** Removes tensors and returns those without pins. Tombstones record whether they had expired. */
  List<Entry> remove(List<Entry> removed) {
    var now = clock.instant();
    var idle = new ArrayList<Entry>();
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
  void release(List<Entry> idle) {
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
        entry.owner.refund(entry.type.bytes());
        return true;
      });
    }
  }
}
