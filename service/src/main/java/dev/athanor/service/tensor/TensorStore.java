package dev.athanor.service.tensor;

import dev.athanor.engine.device.Buffer;
import dev.athanor.ops.TensorType;
import dev.athanor.service.failure.Failure;
import dev.athanor.service.failure.Failure.Code;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The tensors that are resident on the device: who may reach them, how long they stay, how much
 * they may take. Work on a tensor holds a {@link Pin}; what is pinned is never freed, and nothing
 * that lives is ever evicted.
 */
public final class TensorStore {

  private static final int MOST_REMEMBERED = 100_000;
  private static final Duration RETRY_QUOTA = Duration.ofSeconds(10);

  /** How a tensor went. */
  private enum End {
    DELETED,
    EXPIRED
  }

  private record Tombstone(End end, Instant at, long sequence) {}

  /** A tensor's state; guarded by the store's monitor but for {@link #contents}. */
  static final class Entry {
    final String handle;
    final TensorOptions options;
    final TensorType type;
    final Buffer buffer;
    final long sequence;
    final Instant createdAt;

    /** Held while the contents are read or written on the device. */
    final StampedLock contents = new StampedLock();

    Duration lease;
    Instant lastUse;
    long version = 1;
    int pins;
    boolean gone;

    Entry(
        String handle,
        TensorOptions options,
        TensorType type,
        Buffer buffer,
        long sequence,
        Instant now,
        Duration lease) {
      this.handle = handle;
      this.options = options;
      this.type = type;
      this.buffer = buffer;
      this.sequence = sequence;
      this.createdAt = now;
      this.lastUse = now;
      this.lease = lease;
    }

    boolean hasExpired(Instant now) {
      return pins == 0 && !lease.isZero() && !lastUse.plus(lease).isAfter(now);
    }

    TensorInfo info() {
      return new TensorInfo(
          handle,
          options.name(),
          options.scope(),
          type,
          version,
          createdAt,
          lease.isZero() ? null : lastUse.plus(lease));
    }
  }

  private final Handles handles;
  private final TensorSettings settings;
  private final Clock clock;
  private final Consumer<Buffer> free;

  private final ReentrantLock monitor = new ReentrantLock();
  private final Map<String, Entry> entries = new HashMap<>();
  private final TreeMap<Long, Entry> byAge = new TreeMap<>();
  private final LinkedHashMap<String, Tombstone> tombstones = new LinkedHashMap<>();
  private long sequence;
  private long chargedBytes;
  private int chargedCount;

  /**
   * @param free gives memory back that no work holds any more
   */
  public TensorStore(Handles handles, TensorSettings settings, Clock clock, Consumer<Buffer> free) {
    this.handles = handles;
    this.settings = settings;
    this.clock = clock;
    this.free = free;
  }

  private <T> T guarded(Supplier<T> action) {
    monitor.lock();
    try {
      return action.get();
    } finally {
      monitor.unlock();
    }
  }

  // -- quota

  /** A share of the quota that is taken until it is closed, or for as long as its tensor lives. */
  public final class Charge implements AutoCloseable {
    private long bytes;
    private boolean open = true;

    private Charge(long bytes) {
      this.bytes = bytes;
    }

    /** Changes the share to what is really needed. */
    public void resize(long now) {
      guarded(() -> {
        take(now - bytes, 0);
        bytes = now;
        return now;
      });
    }

    @Override
    public void close() {
      guarded(() -> {
        if (open) {
          open = false;
          chargedBytes -= bytes;
          chargedCount--;
        }
        return open;
      });
    }
  }

  /**
   * Takes a share of the quota for one tensor, before anything else is spent on it.
   *
   * @throws Failure.Busy with {@code quota-exceeded}
   */
  public Charge charge(long bytes) {
    if (guarded(() -> exceeds(bytes, 1))) {
      sweep();
    }
    return guarded(() -> {
      take(bytes, 1);
      return new Charge(bytes);
    });
  }

  private boolean exceeds(long bytes, int count) {
    return bytes > settings.maxBytes() - chargedBytes || count > settings.maxCount() - chargedCount;
  }

  private void take(long bytes, int count) {
    if (exceeds(bytes, count)) {
      throw new Failure.Busy(
          Code.QUOTA_EXCEEDED,
          ("a tensor of %d bytes more would exceed the quota: %d of %d bytes and %d of %d tensors"
                  + " are taken; delete some or let their leases end")
              .formatted(
                  bytes, chargedBytes, settings.maxBytes(), chargedCount, settings.maxCount()),
          RETRY_QUOTA);
    }
    chargedBytes += bytes;
    chargedCount += count;
  }

  // -- life

  /**
   * Makes a tensor resident. The store owns the buffer from now on.
   *
   * @param charge what was taken for it; the store owns it too
   */
  public TensorInfo add(Charge charge, TensorType type, Buffer buffer, TensorOptions options) {
    return guarded(() -> {
      charge.open = false; // given back when the buffer is
      var lease = options.lease() == null ? settings.lease() : options.lease();
      var entry =
          new Entry(handles.next(), options, type, buffer, ++sequence, clock.instant(), lease);
      entries.put(entry.handle, entry);
      byAge.put(entry.sequence, entry);
      return entry.info();
    });
  }

  /**
   * Holds a tensor for some work.
   *
   * @param field where the handle stands in the request
   * @throws Failure.Refused with {@code unknown-handle} or {@code expired-handle}
   */
  public Pin pin(String handle, String field) {
    return guarded(() -> {
      var entry = find(handle, field);
      entry.pins++;
      entry.lastUse = clock.instant();
      return new Pin(this, entry);
    });
  }

  Pin pinAgain(Entry entry) {
    return guarded(() -> {
      entry.pins++;
      return new Pin(this, entry);
    });
  }

  void unpin(Entry entry) {
    boolean last =
        guarded(() -> {
          entry.pins--;
          entry.lastUse = clock.instant();
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

  /**
   * The description of a tensor.
   *
   * @throws Failure.Refused with {@code unknown-handle} or {@code expired-handle}
   */
  public TensorInfo describe(String handle) {
    return guarded(() -> find(handle, "handle").info());
  }

  /** Whether a handle can be used now. */
  public boolean lives(String handle) {
    return guarded(() -> {
      var entry = entries.get(handle);
      return entry != null && !entry.hasExpired(clock.instant());
    });
  }

  /**
   * Renews a lease from now on.
   *
   * @param lease zero until deleted
   */
  public TensorInfo renew(String handle, Duration lease) {
    return guarded(() -> {
      var entry = find(handle, "handle");
      entry.lease = lease;
      entry.lastUse = clock.instant();
      return entry.info();
    });
  }

  /**
   * Deletes a tensor; work that holds it finishes first. Deleting again does nothing.
   *
   * @throws Failure.Refused with {@code unknown-handle} when there never was one
   */
  public void delete(String handle) {
    var freed =
        guarded(() -> {
          var entry = entries.get(handle);
          if (entry == null) {
            if (!tombstones.containsKey(handle)) {
              throw unknown(handle, "handle");
            }
            return List.<Entry>of();
          }
          return remove(List.of(entry), End.DELETED);
        });
    release(freed);
  }

  /** Deletes all tensors of a scope. */
  public void deleteScope(String scope) {
    release(
        guarded(() ->
            remove(
                byAge.values().stream()
                    .filter(entry -> scope.equals(entry.options.scope()))
                    .toList(),
                End.DELETED)));
  }

  /** Frees what has expired. */
  public void sweep() {
    var freed =
        guarded(() -> {
          var now = clock.instant();
          var forgotten = now.minus(settings.remember());
          tombstones.values().removeIf(tombstone -> tombstone.at.isBefore(forgotten));
          return remove(
              byAge.values().stream().filter(entry -> entry.hasExpired(now)).toList(), End.EXPIRED);
        });
    release(freed);
  }

  /** Tensors, newest first. */
  public record Page(List<TensorInfo> tensors, @Nullable String next) {}

  /**
   * A page of the list, newest first.
   *
   * @param after the last handle of the page before; null for the first page
   * @param scope null for all
   */
  public Page list(int limit, @Nullable String after, @Nullable String scope) {
    return guarded(() -> {
      var now = clock.instant();
      Predicate<Entry> wanted =
          entry -> !entry.hasExpired(now) && (scope == null || scope.equals(entry.options.scope()));
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

  /** How many tensors are resident, those that wait for their last work included. */
  public int count() {
    return guarded(() -> chargedCount);
  }

  /** The bytes of the resident tensors. */
  public long bytes() {
    return guarded(() -> chargedBytes);
  }

  // -- guarded by the monitor

  private long sequenceOf(String handle) {
    var entry = entries.get(handle);
    if (entry != null) {
      return entry.sequence;
    }
    var tombstone = tombstones.get(handle);
    if (tombstone == null) {
      throw unknown(handle, "after");
    }
    return tombstone.sequence;
  }

  private Entry find(String handle, String field) {
    var now = clock.instant();
    var entry = entries.get(handle);
    if (entry != null && !entry.hasExpired(now)) {
      return entry;
    }
    var tombstone = tombstones.get(handle);
    boolean recently =
        entry != null
            ? entry.lastUse.plus(entry.lease).plus(settings.remember()).isAfter(now)
            : tombstone != null
                && tombstone.end == End.EXPIRED
                && tombstone.at.plus(settings.remember()).isAfter(now);
    if (recently) {
      throw new Failure.Refused(
          Code.EXPIRED_HANDLE,
          field,
          "the lease of %s has ended and its contents are gone; create the tensor again"
              .formatted(handle));
    }
    throw unknown(handle, field);
  }

  private static Failure unknown(String handle, String field) {
    return new Failure.Refused(
        Code.UNKNOWN_HANDLE,
        field,
        Handles.isHandle(handle)
            ? "there is no tensor " + handle
            : field + " is no handle; handles look like t_… and come from POST /tensors");
  }

  /** Takes tensors out; answers those that no work holds. */
  private List<Entry> remove(List<Entry> removed, End end) {
    var now = clock.instant();
    var idle = new ArrayList<Entry>();
    for (var entry : removed) {
      entries.remove(entry.handle);
      byAge.remove(entry.sequence);
      entry.gone = true;
      var at = end == End.EXPIRED ? entry.lastUse.plus(entry.lease) : now;
      tombstones.put(entry.handle, new Tombstone(end, at, entry.sequence));
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
  private void release(List<Entry> idle) {
    for (var entry : idle) {
      free.accept(entry.buffer);
      guarded(() -> {
        chargedBytes -= entry.type.bytes();
        return --chargedCount;
      });
    }
  }
}
