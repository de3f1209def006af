package dev.athanor.engine.device;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A bounded cache that evicts the least recently used value. Each value is computed once, while
 * concurrent lookups of its key wait; values of different keys are computed concurrently.
 */
public final class LruCache<K, V> {

  private final int limit;
  private final Predicate<? super V> pinned;
  private final Map<K, Entry<V>> entries = new ConcurrentHashMap<>();

  /** Number of lookups, for the order of use. */
  private final AtomicLong lookups = new AtomicLong();

  private static final class Entry<V> {
    private volatile @Nullable V value;
    private volatile long used;
  }

  /**
   * Creates a cache that may evict any value.
   *
   * @param limit maximum number of values, at least 1
   */
  public LruCache(int limit) {
    this(limit, _ -> false);
  }

  /**
   * Creates a cache that never evicts pinned values, even beyond the limit.
   *
   * @param limit maximum number of values, at least 1
   * @param pinned whether a value must not be evicted
   */
  public LruCache(int limit, Predicate<? super V> pinned) {
    if (limit < 1) {
      throw new IllegalArgumentException("a cache holds at least 1 value, got a limit of " + limit);
    }
    this.limit = limit;
    this.pinned = pinned;
  }

  /** Returns the value of a key; null if absent. */
  public @Nullable V find(K key) {
    var entry = entries.get(key);
    return entry == null ? null : use(entry);
  }

  private @Nullable V use(Entry<V> entry) {
    entry.used = lookups.incrementAndGet();
    return entry.value;
  }

  /** Returns the value of a key and computes it if absent. A failed computation is not cached. */
  public V get(K key, Function<? super K, ? extends V> make) {
    var entry = entries.computeIfAbsent(key, _ -> new Entry<>());
    var known = use(entry);
    return known != null ? known : make(key, entry, make);
  }

  private V make(K key, Entry<V> entry, Function<? super K, ? extends V> make) {
    V made;
    synchronized (entry) {
      made = entry.value;
      if (made == null) {
        try {
          made = make.apply(key);
        } catch (RuntimeException | Error e) {
          entries.remove(key, entry);
          throw e;
        }
        entry.value = made;
        entries.putIfAbsent(key, entry); // in case an earlier computation failed
      }
    }
    evict();
    return made;
  }

  private synchronized void evict() {
    while (entries.size() > limit) {
      K oldest = null;
      long used = Long.MAX_VALUE;
      for (var each : entries.entrySet()) {
        var entry = each.getValue();
        var value = entry.value;
        if (value != null && entry.used < used && !pinned.test(value)) {
          oldest = each.getKey();
          used = entry.used;
        }
      }
      if (oldest == null) {
        return;
      }
      entries.remove(oldest);
    }
  }

  /** Returns the cached values. */
  public List<V> values() {
    var values = new ArrayList<V>();
    for (var entry : entries.values()) {
      var value = entry.value;
      if (value != null) {
        values.add(value);
      }
    }
    return values;
  }

  /** Removes all values. */
  public void clear() {
    entries.clear();
  }
}
