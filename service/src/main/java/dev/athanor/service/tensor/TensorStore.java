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
 * The tensors that are resident on the devices: how long they stay, and when their memory is given
 * back. Clients reach them as {@link TenantTensors}. Work on a tensor holds a {@link Pin}; what is
 * pinned is never freed, and nothing that lives is ever evicted.
 */
public final class TensorStore {

  private static final Logger LOG = LoggerFactory.getLogger(TensorStore.class);
  private static final int MOST_REMEMBERED = 100_000;

  /** What lies on a device; guarded by the store's monitor. */
  private static final class Usage {
    int tensors;
    long bytes;
    long spilled;
  }

  /** How a tensor went. */
  enum End {
    DELETED,
    EXPIRED
  }

  record Tombstone(TenantTensors owner, End end, Instant at, long sequence) {}

  /** A tensor's state; guarded by the store's monitor but for {@link #contents}. */
  static final class Entry {
    final TenantTensors owner;
    final String handle;
    final TensorOptions options;
    final TensorType type;
    final DeviceStorage home;
    final long sequence;
    final Instant createdAt;

    /** Held while the contents move between device and host. */
    final ReentrantLock moving = new ReentrantLock();

    /** Where they are; the one that is null is where they are not. */
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

    /** The current version, where somebody reads it piece by piece. */
    Snapshot.@Nullable Shared snapshot;

    Entry(
        TenantTensors owner,
        String handle,
        TensorOptions options,
        TensorType type,
        DeviceStorage home,
        Buffer buffer,
        long sequence,
        Instant now,
        Duration lease) {
      this.owner = owner;
      this.handle = handle;
      this.options = options;
      this.name = options.name();
      this.type = type;
      this.home = home;
      this.buffer = buffer;
      this.sequence = sequence;
      this.createdAt = now;
      this.lastUse = now;
      this.lease = lease;
    }

    Buffer resident() {
      return Objects.requireNonNull(buffer, "a tensor that is pinned is on the device");
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
          home.id(),
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

  /** A store in which all tenants have the same quota. */
  public TensorStore(Handles handles, TensorSettings settings, Clock clock) {
    this(handles, settings, QuotaSettings.NONE, clock);
  }

  /** A store in which some tenants have quotas of their own. */
  public TensorStore(Handles handles, TensorSettings settings, QuotaSettings quotas, Clock clock) {
    this.handles = handles;
    this.settings = settings;
    this.quotas = quotas;
    this.clock = clock;
  }

  /** The tensors of one tenant, and nobody else's. */
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

  // -- what pins do

  Pin pinAgain(Entry entry) {
    return guarded(() -> {
      entry.pins++;
      return new Pin(this, entry);
    });
  }

  void unpin(Entry entry) {
    guarded(() -> entry.lastUse = clock.instant());
    letGo(entry);
  }

  private void letGo(Entry entry) {
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

  /** Holds the current version of a tensor that is pinned and that nobody writes now. */
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
   * Copies the current version of a tensor that is about to be overwritten, where it has readers.
   * The copy counts against the quota of the owner; readers for whom there is none fail.
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
      LOG.debug("no device memory for the version that is read", e);
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

  void letGo(Snapshot.Shared shared) {
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
      entry.home.free(copied);
    }
    guarded(() -> {
      entry.owner.refund(entry.type.bytes());
      return true;
    });
  }

  // -- the device and the host

  /**
   * Frees memory of a device: of what has expired, and if that is not enough, by moving tensors
   * that nobody uses to the host, those first that were used least recently.
   *
   * @param bytes how many will be asked for
   */
  public void makeRoom(DeviceStorage home, long bytes) {
    sweep();
    long needed = bytes - home.free();
    boolean goesOn = true;
    for (var entry : idle(home, needed)) {
      try {
        if (goesOn) {
          spill(entry);
        }
      } catch (Failure e) {
        LOG.warn("no tensor is moved to the host now: {}", e.getMessage());
        goesOn = false;
      } finally {
        letGo(entry); // which is no use of it: its lease goes on
      }
    }
  }

  /** Tensors that can be moved to the host, pinned. */
  private List<Entry> idle(DeviceStorage home, long needed) {
    return guarded(() -> {
      long room = settings.spillBytes() - usage.values().stream().mapToLong(u -> u.spilled).sum();
      var idle =
          entries.values().stream()
              .filter(entry -> entry.home.equals(home) && entry.pins == 0 && entry.buffer != null)
              .sorted(Comparator.comparing(entry -> entry.lastUse))
              .toList();
      var chosen = new ArrayList<Entry>();
      long bytes = 0;
      for (var entry : idle) {
        long more = entry.type.bytes();
        if (bytes < needed && bytes + more <= room) {
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
      // a pin of someone else may use the tensor by now, or have let go of it
      if (entry.buffer == null || !guarded(() -> entry.pins == 1)) {
        return;
      }
      var buffer = entry.buffer;
      var saved = entry.home.save(buffer);
      guarded(() -> move(entry, null, saved));
      entry.home.free(buffer);
    } finally {
      entry.moving.unlock();
    }
  }

  /** Waits until a tensor, which is pinned, is on its device. */
  void bringBack(Entry entry) {
    if (settings.spillBytes() == 0) {
      return;
    }
    entry.moving.lock();
    try {
      var saved = entry.saved;
      if (saved != null) {
        var buffer = entry.home.restore(saved);
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
    var there = usage(entry.home);
    there.bytes -= toHost;
    there.spilled += toHost;
    return entry;
  }

  // -- all tenants together

  /** Whether a handle can be used now by whoever owns it. */
  public boolean lives(String handle) {
    return guarded(() -> {
      var entry = entries.get(handle);
      return entry != null && !entry.hasExpired(clock.instant());
    });
  }

  /** How many bytes of a device's tensors lie on the host. */
  public long spilled(DeviceStorage home) {
    return guarded(() -> usage(home).spilled);
  }

  /** Frees what has expired, tenant by tenant. */
  public void sweep() {
    var all =
        guarded(() -> {
          var now = clock.instant();
          tombstones.values().removeIf(tombstone -> !remembers(tombstone, now));
          return List.copyOf(tenants.values());
        });
    all.forEach(TenantTensors::sweep);
  }

  /** How many tensors lie on a device, those that wait for their last work included. */
  public int count(DeviceStorage home) {
    return guarded(() -> usage(home).tensors);
  }

  /** The bytes of the tensors on a device. */
  public long bytes(DeviceStorage home) {
    return guarded(() -> usage(home).bytes);
  }

  /** How many tensors count against quotas: those on all devices and those on their way there. */
  public int count() {
    return guarded(() -> tenants.values().stream().mapToInt(TenantTensors::charged).sum());
  }

  /** Their bytes. */
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

  private Usage usage(DeviceStorage home) {
    return usage.computeIfAbsent(home, _ -> new Usage());
  }

  void put(Entry entry) {
    entries.put(entry.handle, entry);
    var there = usage(entry.home);
    there.tensors++;
    there.bytes += entry.type.bytes();
  }

  /** Takes tensors out; answers those that no work holds. What has expired stays expired. */
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
      if (tombstones.size() > MOST_REMEMBERED) {
        tombstones.pollFirstEntry();
      }
      if (entry.pins == 0) {
        idle.add(entry);
      }
    }
    return idle;
  }

  /** Outside the monitor, since giving memory back waits for the device. */
  void release(List<Entry> idle) {
    for (var entry : idle) {
      if (entry.buffer != null) {
        entry.home.free(entry.buffer);
      } else if (entry.saved != null) {
        entry.saved.close();
      }
      guarded(() -> {
        var there = usage(entry.home);
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
