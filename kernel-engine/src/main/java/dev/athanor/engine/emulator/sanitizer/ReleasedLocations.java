package dev.athanor.engine.emulator.sanitizer;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What threads release at places of a memory, for those that acquire there (PTX ISA 8.8). A reader
 * acquires the release patterns of the write that it reads from, and of those writes from which a
 * chain of atomic operations leads to it (8.9.2, observation order); any other write to the place
 * ends the chain.
 */
final class ReleasedLocations {

  /** All blocks, as a group of threads. */
  static final long EVERYBODY = -1;

  /** What is acquired where nothing was released, for each group. */
  static final SparseVectorClock[] NOTHING = {
    SparseVectorClock.NONE, SparseVectorClock.NONE, SparseVectorClock.NONE
  };

  /** Somebody who makes a strong access. */
  static final class Party {

    /** The threads that scopes reach from here: its block, its cluster, all. */
    private final long[] groups;

    /** That of the access, {@link AccessStamp#BLOCK} to {@link AccessStamp#DEVICE}. */
    private final int strength;

    Party(long[] groups, int strength) {
      this.groups = groups;
      this.strength = strength;
    }

    int strength() {
      return strength;
    }

    /** Whether each scope has the other thread in it (PTX ISA 8.7). */
    boolean reaches(Party other) {
      int narrower = Math.min(strength, other.strength) - 1;
      return groups[narrower] == other.groups[narrower];
    }
  }

  /** What a write releases to those groups of threads that its release pattern reaches. */
  @FunctionalInterface
  interface Pattern {
    /**
     * Hands over what is released to a group.
     *
     * @param group 0 = the block, 1 = the cluster, 2 = all
     * @return null if nothing is
     */
    @Nullable SparseVectorClock to(int group);
  }

  /** One place, as its last strong write has left it. */
  private static final class Place {
    Party writer;
    Map<Long, SparseVectorClock> released = Map.of();
    volatile long version;

    Place(Party writer) {
      this.writer = writer;
    }
  }

  private final Map<Long, Place> places = new ConcurrentHashMap<>();
  private final AtomicLong versions = new AtomicLong();

  void clear() {
    places.clear();
  }

  /**
   * A thread writes.
   *
   * @param atomic whether it writes what it makes of the value that was there
   * @param releases whether its pattern releases anything
   */
  void write(long address, Party writer, boolean atomic, boolean releases, Pattern pattern) {
    var place = places.get(address);
    if (place == null) {
      if (!releases) {
        return;
      }
      place = places.computeIfAbsent(address, _ -> new Place(writer));
    }
    synchronized (place) {
      boolean goesOn = atomic && place.writer.reaches(writer);
      if (goesOn && !releases) {
        place.writer = writer;
      } else {
        var released = new HashMap<Long, SparseVectorClock>(goesOn ? place.released : Map.of());
        for (int group = 0; group < writer.groups.length; group++) {
          var news = pattern.to(group);
          if (news != null) {
            var before = released.put(writer.groups[group], news);
            if (before != null) {
              news.join(before);
            }
          }
        }
        place.writer = writer;
        place.released = released;
      }
      place.version = versions.incrementAndGet();
    }
  }

  /** A number that is new whenever a place is written; 0 = nothing was ever released there. */
  long version(long address) {
    var place = places.get(address);
    return place == null ? 0 : place.version;
  }

  /**
   * What a thread that reads may acquire, for each of its groups; what is in the array is not to be
   * changed.
   */
  SparseVectorClock[] read(long address, Party reader) {
    var news = NOTHING.clone();
    var place = places.get(address);
    if (place == null) {
      return news;
    }
    synchronized (place) {
      for (int group = 0; place.writer.reaches(reader) && group < news.length; group++) {
        news[group] = place.released.getOrDefault(reader.groups[group], SparseVectorClock.NONE);
      }
    }
    return news;
  }
}
