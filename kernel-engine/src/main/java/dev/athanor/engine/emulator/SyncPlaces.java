package dev.athanor.engine.emulator;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What threads release at places of a memory, for those that acquire there (PTX ISA 8.8). A place
 * that a relaxed write overwrites keeps what was released before, so that nothing is said to be a
 * race that is none.
 */
final class SyncPlaces {

  /** All blocks, as a group of threads. */
  static final long EVERYBODY = -1;

  /** What was released at one place, for each group of threads that may acquire it. */
  private static final class Place {
    final Map<Long, Knowledge> released = new HashMap<>();
    volatile long version;
  }

  private final Map<Long, Place> places = new ConcurrentHashMap<>();
  private final AtomicLong versions = new AtomicLong();

  void clear() {
    places.clear();
  }

  /**
   * A thread releases what it knows.
   *
   * @param groups those that may acquire it
   * @param count how many of them count
   * @param upTo the time up to which the thread's own doings are told
   */
  void release(
      long address, long[] groups, int count, Clocks clocks, int warp, int lane, int upTo) {
    var place = places.computeIfAbsent(address, _ -> new Place());
    synchronized (place) {
      for (int i = 0; i < count; i++) {
        clocks.publish(
            warp, lane, upTo, place.released.computeIfAbsent(groups[i], _ -> new Knowledge()));
      }
      place.version = versions.incrementAndGet();
    }
  }

  /** A number that is new whenever something is released at a place; 0 = nothing ever was. */
  long version(long address) {
    var place = places.get(address);
    return place == null ? 0 : place.version;
  }

  /**
   * What a thread acquires at a place; null = nothing was released there.
   *
   * @param groups for which it was released
   * @param count how many of them count
   */
  @Nullable Knowledge acquire(long address, long[] groups, int count) {
    var place = places.get(address);
    if (place == null) {
      return null;
    }
    synchronized (place) {
      var all = new Knowledge();
      for (int i = 0; i < count; i++) {
        var released = place.released.get(groups[i]);
        if (released != null) {
          all.join(released);
        }
      }
      return all;
    }
  }
}
