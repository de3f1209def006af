package dev.athanor.engine.emulator;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * What threads release at places of a memory, for those that acquire there (PTX ISA 8.8). A place
 * that a relaxed write overwrites keeps what was released before, so that nothing is said to be a
 * race that is none.
 */
final class SyncPlaces {

  /** What was released at one place. */
  private static final class Place {
    /** For threads of all blocks. */
    final Knowledge wide = new Knowledge();

    /** By threads of a block, for those of the same. */
    final Map<Long, Knowledge> narrow = new HashMap<>();
  }

  private final Map<Long, Place> places = new ConcurrentHashMap<>();

  void clear() {
    places.clear();
  }

  boolean isEmpty() {
    return places.isEmpty();
  }

  /**
   * A thread releases what it knows.
   *
   * @param wide whether threads of other blocks may acquire it
   * @param upTo the time up to which the thread's own doings are told
   */
  void release(
      long address, long block, boolean wide, Clocks clocks, int warp, int lane, int upTo) {
    var place = places.computeIfAbsent(address, _ -> new Place());
    synchronized (place) {
      clocks.publish(warp, lane, upTo, place.narrow.computeIfAbsent(block, _ -> new Knowledge()));
      if (wide) {
        clocks.publish(warp, lane, upTo, place.wide);
      }
    }
  }

  /**
   * What a thread of a block acquires at a place; null = nothing was released there.
   *
   * @param wide whether it acquires from threads of other blocks
   */
  @Nullable Knowledge acquire(long address, long block, boolean wide) {
    var place = places.get(address);
    if (place == null) {
      return null;
    }
    synchronized (place) {
      var own = place.narrow.get(block);
      var all = wide ? place.wide.copy() : new Knowledge();
      if (own != null) {
        all.join(own);
      }
      return all;
    }
  }
}
