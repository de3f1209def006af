package dev.athanor.engine.emulator.sanitizer.clocks;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The vector clocks that threads have released at the locations of a memory, for threads that
 * acquire them there (PTX ISA 8.8). A reader acquires the release patterns of the write that it
 * reads from, and of the writes that a chain of atomic operations connects to it (8.9.2,
 * observation order). Any other write to the location ends the chain.
 */
public final class ReleasedLocations {

  /** The threads of all blocks, as a group. */
  public static final long ALL_THREADS = -1;

  /** For each group the clock that a reader acquires if nothing was released. */
  private static final SparseVectorClock[] NOTHING = {
    SparseVectorClock.NONE, SparseVectorClock.NONE, SparseVectorClock.NONE
  };

  /** A thread that makes a strong access. */
  public static final class Party {

    /** The groups of threads that it belongs to: its block, its cluster, all threads. */
    private final long[] groups;

    private final int strength;

    /**
     * @param groups that the thread belongs to: its block, its cluster, all threads
     * @param strength the scope of the access: how many of the groups it reaches
     */
    public Party(long[] groups, int strength) {
      this.groups = groups;
      this.strength = strength;
    }

    public int strength() {
      return strength;
    }

    /** Returns whether each one's scope includes the other thread (PTX ISA 8.7). */
    boolean reaches(Party other) {
      int narrower = Math.min(strength, other.strength) - 1;
      return groups[narrower] == other.groups[narrower];
    }
  }

  /** The release pattern of a write. */
  @FunctionalInterface
  public interface Pattern {
    /**
     * Returns a new clock with everything that it releases to a group.
     *
     * @param group 0 = the block, 1 = the cluster, 2 = all threads
     * @return null if it releases nothing
     */
    @Nullable SparseVectorClock to(int group);
  }

  /** The state of a location after its last strong write. */
  private static final class Location {
    Party writer;
    Map<Long, SparseVectorClock> released = Map.of();
    volatile long version;

    Location(Party writer) {
      this.writer = writer;
    }
  }

  private final Map<Long, Location> locations = new ConcurrentHashMap<>();
  private final AtomicLong versions = new AtomicLong();

  /** Returns a new array with an empty clock for each group. */
  public static SparseVectorClock[] nothing() {
    return NOTHING.clone();
  }

  public void clear() {
    locations.clear();
  }

  /**
   * A thread writes to a location.
   *
   * @param atomic whether it reads and writes in one atomic operation
   * @param releases whether its pattern releases anything
   */
  public void write(long address, Party writer, boolean atomic, boolean releases, Pattern pattern) {
    var location = locations.get(address);
    if (location == null) {
      if (!releases) {
        return;
      }
      location = locations.computeIfAbsent(address, _ -> new Location(writer));
    }
    synchronized (location) {
      boolean continuesChain = atomic && location.writer.reaches(writer);
      if (continuesChain && !releases) {
        location.writer = writer;
      } else {
        var released =
            new HashMap<Long, SparseVectorClock>(continuesChain ? location.released : Map.of());
        for (int group = 0; group < writer.groups.length; group++) {
          var clock = pattern.to(group);
          if (clock != null) {
            var before = released.put(writer.groups[group], clock);
            if (before != null) {
              clock.join(before);
            }
          }
        }
        location.writer = writer;
        location.released = released;
      }
      location.version = versions.incrementAndGet();
    }
  }

  /** Returns a number that every write changes; 0 = no thread has released anything there. */
  public long version(long address) {
    var location = locations.get(address);
    return location == null ? 0 : location.version;
  }

  /** Returns for each group the clock that a reader may acquire. Do not change the clocks. */
  public SparseVectorClock[] read(long address, Party reader) {
    var observed = nothing();
    var location = locations.get(address);
    if (location == null) {
      return observed;
    }
    synchronized (location) {
      for (int group = 0; location.writer.reaches(reader) && group < observed.length; group++) {
        observed[group] =
            location.released.getOrDefault(reader.groups[group], SparseVectorClock.NONE);
      }
    }
    return observed;
  }
}
