package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import dev.athanor.service.tensor.TensorStore.End;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The tensors of one tenant in the {@link TensorStore}, and its quota. Handles of other tenants are
 * unknown here.
 */
public final class TenantTensors {

  private final TensorStore store;
  private final NamedTensors named;

  // guarded by the store's monitor
  private final TreeMap<Long, TensorEntry> byAge = new TreeMap<>();
  private final Map<DeviceStorage, Long> bytesAt = new HashMap<>();
  private final TenantQuota quota;

  /** A lower bound for the end of all leases. */
  private Instant firstEnd = Instant.MAX;

  /**
   * @param maxBytes the quota in bytes
   * @param maxCount the quota in tensors
   */
  TenantTensors(TensorStore store, long maxBytes, int maxCount) {
    this.store = store;
    quota = new TenantQuota(maxBytes, maxCount);
    named = new NamedTensors(store, this);
  }

  /** The names of tensors. */
  public NamedTensors named() {
    return named;
  }

  // -- quota

  /** Returns the quota in bytes. */
  public long maxBytes() {
    return quota.maxBytes();
  }

  /** Returns the quota in tensors. */
  public int maxCount() {
    return quota.maxCount();
  }

  /**
   * A quota charge, held until it is closed or, once it has a tensor, until the tensor is freed.
   */
  public final class Charge implements AutoCloseable {
    private long bytes;
    private boolean open = true;

    private Charge(long bytes) {
      this.bytes = bytes;
    }

    /** Changes the size of the charge. */
    public void resize(long now) {
      sweepIfExceeded(now - bytes, 0);
      store.guarded(() -> {
        quota.resize(bytes, now);
        bytes = now;
        return now;
      });
    }

    /**
     * Adds a resident tensor. The store takes ownership of the buffer and of this charge.
     *
     * @param storage the device of the buffer
     * @param buffer a buffer of {@code type.bytes()} bytes, the size of this charge
     */
    public TensorInfo add(
        TensorType type, DeviceStorage storage, Buffer buffer, TensorOptions options) {
      return store.guarded(() -> {
        open = false; // refunded when the buffer is freed
        var lease = options.lease() == null ? store.settings.lease() : options.lease();
        var entry =
            new TensorEntry(
                TenantTensors.this,
                store.handles.next(),
                options,
                type,
                storage,
                buffer,
                store.nextSequence(),
                store.clock.instant(),
                lease);
        store.put(entry);
        byAge.put(entry.sequence, entry);
        noteEnd(entry);
        bytesAt.merge(storage, type.bytes(), Long::sum);
        return entry.info();
      });
    }

    @Override
    public void close() {
      store.guarded(() -> {
        if (open) {
          open = false;
          quota.refund(bytes);
        }
        return open;
      });
    }
  }

  /**
   * Charges the quota for one tensor, before any other resource is used for it.
   *
   * @throws Failure.Busy with {@code quota-exceeded}
   */
  public Charge charge(long bytes) {
    sweepIfExceeded(bytes, 1);
    return store.guarded(() -> {
      quota.take(bytes);
      return new Charge(bytes);
    });
  }

  private void sweepIfExceeded(long bytes, int count) {
    if (store.guarded(() -> quota.exceeds(bytes, count))) {
      sweep();
    }
  }

  /** Frees expired tensors; does nothing before the first lease may have ended. */
  void sweep() {
    store.release(
        store.guarded(() -> {
          var now = store.clock.instant();
          if (firstEnd.isAfter(now)) {
            return List.of();
          }
          var expired =
              store.remove(byAge.values().stream().filter(each -> each.hasExpired(now)).toList());
          firstEnd = Instant.MAX;
          byAge.values().forEach(this::noteEnd);
          return expired;
        }));
  }

  /** Lowers the bound for a new lease. Uses only extend leases, so they need no update. */
  private void noteEnd(TensorEntry entry) {
    if (!entry.lease.isZero()) {
      var end = entry.lastUse.plus(entry.lease);
      firstEnd = end.isBefore(firstEnd) ? end : firstEnd;
    }
  }

  // -- placement

  /**
   * Returns the storages of some tensors with the bytes that each holds.
   *
   * @param handles handles; unknown ones are ignored
   */
  public Map<DeviceStorage, Long> bytesByStorage(Collection<String> handles) {
    return store.guarded(() -> {
      var bytes = new HashMap<DeviceStorage, Long>();
      for (var handle : handles) {
        var entry = own(handle);
        if (entry != null) {
          bytes.merge(entry.storage, entry.type.bytes(), Long::sum);
        }
      }
      return bytes;
    });
  }

  /** Returns the storages of all tensors with the bytes that each holds. */
  public Map<DeviceStorage, Long> bytesByStorage() {
    return store.guarded(() -> Map.copyOf(bytesAt));
  }

  // -- life cycle

  /**
   * Pins a tensor.
   *
   * @param handle a handle or a name
   * @param field the path of the handle in the request
   * @throws Failure.Refused with {@code unknown-handle} or {@code expired-handle}
   * @throws Failure.OutOfDeviceMemory if it was spilled and device memory does not suffice to
   *     restore it
   */
  public Pin pin(String handle, String field) {
    var pin =
        store.guarded(() -> {
          var entry = find(handle, field);
          entry.pins++;
          entry.lastUse = store.clock.instant();
          return new Pin(store, entry);
        });
    try {
      pin.restore();
    } catch (RuntimeException e) {
      pin.close();
      throw e;
    }
    return pin;
  }

  /**
   * Checks that the contents of a tensor may change. Those of a named one may not, or its copies
   * would differ.
   *
   * @param handle a handle or a name
   * @param field the path of the handle in the request
   * @throws Failure.Refused with {@code handle-in-use}, {@code unknown-handle} or {@code
   *     expired-handle}
   */
  public void requireWritable(String handle, String field) {
    store.guarded(() -> {
      var entry = find(handle, field);
      if (entry.copy != null) {
        throw new Failure.Refused(
            Code.HANDLE_IN_USE,
            field,
            "%s is stored under the name %s, so its contents do not change; PUT /tensors/%2$s replaces it"
                .formatted(handle, entry.name));
      }
      return entry;
    });
  }

  /**
   * Describes a tensor.
   *
   * @param handle or a name
   * @throws Failure.Refused with {@code unknown-handle} or {@code expired-handle}
   */
  public TensorInfo describe(String handle) {
    return store.guarded(() -> find(handle, "handle").info());
  }

  /** Sets a new lease, which starts now; zero for unlimited. */
  public TensorInfo renew(String handle, Duration lease) {
    return renew(handle, lease, _ -> {});
  }

  /**
   * Sets a new lease, which starts now.
   *
   * @param lease the lease; zero for unlimited
   * @param precondition receives the version and may throw
   */
  public TensorInfo renew(String handle, Duration lease, Consumer<OptionalLong> precondition) {
    requireHandle(handle, "store the tensor again to set its lease");
    return store.guarded(() -> {
      var entry = find(handle, "handle");
      precondition.accept(OptionalLong.of(entry.version));
      lease(entry, lease);
      return entry.info();
    });
  }

  /** A name stands for the copies on all replicas. */
  private static void requireHandle(String handle, String instead) {
    if (Names.isName(handle)) {
      throw new Failure.Refused(
          Code.INVALID_ATTRIBUTE,
          "handle",
          "handle is the name %s, which may have copies on other replicas; %s"
              .formatted(handle, instead.formatted(handle)));
    }
  }

  /** Deletes a tensor without a precondition. */
  public void delete(String handle) {
    delete(handle, _ -> {});
  }

  /**
   * Deletes a tensor; it is freed when no work uses it any more. Repeated deletion has no effect.
   *
   * @param precondition receives the version, empty for a deleted or expired tensor, and may throw
   * @throws Failure.Refused with {@code unknown-handle} if it never existed
   */
  public void delete(String handle, Consumer<OptionalLong> precondition) {
    requireHandle(handle, "DELETE /tensors/%s deletes them all");
    var freed =
        store.guarded(() -> {
          var entry = own(handle);
          if (entry == null) {
            if (tombstone(handle) == null) {
              throw unknown(handle, "handle");
            }
            precondition.accept(OptionalLong.empty());
            return List.<TensorEntry>of();
          }
          precondition.accept(
              entry.hasExpired(store.clock.instant())
                  ? OptionalLong.empty()
                  : OptionalLong.of(entry.version));
          return store.remove(List.of(entry));
        });
    store.release(freed);
  }

  /** Deletes all tensors of a scope. */
  public void deleteScope(String scope) {
    store.release(
        store.guarded(() ->
            store.remove(
                byAge.values().stream()
                    .filter(entry -> scope.equals(entry.options.scope()))
                    .toList())));
  }

  /** A page of tensors, newest first. */
  public record Page(List<TensorInfo> tensors, @Nullable String next) {}

  /**
   * Returns a page of tensors, newest first.
   *
   * @param after the last handle of the previous page; null for the first page
   * @param scope the scope to list; null for all
   */
  public Page list(int limit, @Nullable String after, @Nullable String scope) {
    return store.guarded(() -> {
      var now = store.clock.instant();
      Predicate<TensorEntry> wanted =
          entry ->
              !entry.hasExpired(now)
                  && !entry.storage.isLost()
                  && (scope == null || scope.equals(entry.options.scope()));
      var older = after == null ? byAge : byAge.headMap(sequenceOf(after), false);
      var page = new ArrayList<TensorInfo>();
      for (var entry : older.descendingMap().values()) {
        if (wanted.test(entry)) {
          if (page.size() == limit) {
            return new Page(page, page.getLast().handle());
          }
          page.add(entry.info());
        }
      }
      return new Page(page, null);
    });
  }

  // -- guarded by the store's monitor

  TenantQuota quota() {
    return quota;
  }

  void lease(TensorEntry entry, Duration lease) {
    entry.lease = lease;
    entry.lastUse = store.clock.instant();
    noteEnd(entry);
  }

  void forget(TensorEntry entry) {
    named.forget(entry);
    byAge.remove(entry.sequence);
    bytesAt.merge(entry.storage, -entry.type.bytes(), Long::sum);
  }

  private @Nullable TensorEntry own(String handle) {
    if (Names.isName(handle)) {
      return named.get(handle);
    }
    var entry = store.entry(handle);
    return entry != null && entry.owner == this ? entry : null;
  }

  private TensorStore.@Nullable Tombstone tombstone(String handle) {
    var tombstone = store.tombstone(handle);
    return tombstone != null && tombstone.owner() == this ? tombstone : null;
  }

  private long sequenceOf(String handle) {
    var entry = own(handle);
    if (entry != null) {
      return entry.sequence;
    }
    var tombstone = tombstone(handle);
    if (tombstone == null) {
      throw unknown(handle, "after");
    }
    return tombstone.sequence();
  }

  TensorEntry find(String handle, String field) {
    var now = store.clock.instant();
    var tombstoneTtl = store.settings.tombstoneTtl();
    var entry = own(handle);
    if (entry != null && !entry.hasExpired(now)) {
      if (entry.storage.isLost()) {
        throw Failure.Busy.deviceLost();
      }
      return entry;
    }
    var tombstone = tombstone(handle);
    boolean recently =
        entry != null
            ? entry.lastUse.plus(entry.lease).plus(tombstoneTtl).isAfter(now)
            : tombstone != null && tombstone.end() == End.EXPIRED;
    if (recently) {
      throw new Failure.Refused(
          Code.EXPIRED_HANDLE,
          field,
          "the lease of %s has expired and its contents are freed; create the tensor again"
              .formatted(handle));
    }
    throw unknown(handle, field);
  }

  private Failure unknown(String handle, String field) {
    if (Names.isName(handle)) {
      return new Failure.UnknownName(field, handle);
    }
    if (!Handles.isHandle(handle)) {
      return new Failure.Refused(
          Code.UNKNOWN_HANDLE,
          field,
          field + " is not a handle; handles look like t_… and come from POST /tensors");
    }
    return store
        .handles
        .otherReplica(handle)
        .<Failure>map(
            owner -> Failure.WrongReplica.of(field, handle, owner, store.handles.url(owner)))
        .orElseGet(
            () -> new Failure.Refused(Code.UNKNOWN_HANDLE, field, "Unknown tensor " + handle));
  }
}
