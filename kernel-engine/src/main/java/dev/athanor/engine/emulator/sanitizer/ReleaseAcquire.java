package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.sanitizer.ReleasedLocations.Party;
import dev.athanor.engine.emulator.sanitizer.VectorClocks.Moment;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Release and acquire patterns of the threads of a cluster (PTX ISA 8.8): what fences cover, and
 * what strong accesses hand over and bring. Warps and threads are numbered through the blocks of
 * the cluster.
 */
final class ReleaseAcquire {

  /** The groups of threads that scopes reach: the block, the cluster, all. */
  private static final int GROUPS = AccessStamp.DEVICE;

  private final VectorClocks clocks;
  private final ReleasedLocations buffers;
  private final ReleasedLocations shared = new ReleasedLocations();
  private final int warpsOfBlock;

  /** By group and thread what the thread knew at its last releasing fence that reaches it. */
  private final @Nullable Moment[][] fenced;

  /** By group and thread what an acquiring fence that reaches it would acquire. */
  private final @Nullable SparseVectorClock[][] pending;

  /**
   * The place of each thread's last release operation, what it knew then, and how far that reaches:
   * a later strong write of the thread to that place completes a release pattern too.
   */
  private final long[] releasedKeys;

  private final @Nullable Moment[] released;
  private final int[] releasedStrengths;

  /**
   * The place of each thread's last strong read, its instruction, and what the place's version was.
   * A thread that waits in a loop reads the same over and over.
   */
  private final long[] lastKeys;

  private final int[] lastInstructions;
  private final long[] lastVersions;

  /** What reads of that place brought: a later acquire operation there acquires it as well. */
  private final SparseVectorClock[][] lastNews;

  private long cluster;

  /**
   * @param buffers what is released in global memory, by all blocks
   */
  ReleaseAcquire(VectorClocks clocks, ReleasedLocations buffers, int warps, int warpsOfBlock) {
    this.clocks = clocks;
    this.buffers = buffers;
    this.warpsOfBlock = warpsOfBlock;
    int threads = 32 * warps;
    this.fenced = new @Nullable Moment[GROUPS][threads];
    this.pending = new @Nullable SparseVectorClock[GROUPS][threads];
    this.releasedKeys = new long[threads];
    this.released = new @Nullable Moment[threads];
    this.releasedStrengths = new int[threads];
    this.lastKeys = new long[threads];
    this.lastInstructions = new int[threads];
    this.lastVersions = new long[threads];
    this.lastNews = new SparseVectorClock[threads][];
    Arrays.fill(lastNews, ReleasedLocations.NOTHING);
  }

  void begin(long number) {
    cluster = number;
    shared.clear();
    for (int group = 0; group < GROUPS; group++) {
      Arrays.fill(fenced[group], null);
      Arrays.fill(pending[group], null);
    }
    Arrays.fill(released, null);
    Arrays.fill(lastVersions, 0);
    Arrays.fill(lastNews, ReleasedLocations.NOTHING);
  }

  /** A fence: what strong reads have brought is acquired, what is known can be released. */
  void fence(int warp, int lanes, MemoryEffect fence) {
    if (lanes == 0) {
      return;
    }
    int[] seen = clocks.seen(warp).clone();
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int thread = 32 * warp + lane;
      for (int group = 0; fence.acquires() && group < fence.strength(); group++) {
        var news = pending[group][thread];
        if (news != null) {
          clocks.learn(warp, lane, news);
          pending[group][thread] = null;
        }
      }
      if (fence.releases()) {
        var moment = clocks.moment(warp, lane, seen);
        for (int group = 0; group < fence.strength(); group++) {
          fenced[group][thread] = moment;
        }
      }
    }
    clocks.tick(warp);
  }

  /**
   * Lanes have made strong accesses, one after the other.
   *
   * @param keys of their places
   */
  void access(int warp, MemoryRequest touch, MemoryEffect role, long[] keys) {
    long[] groups = {
      cluster * 32 + warp / warpsOfBlock, cluster * 32 + 31, ReleasedLocations.EVERYBODY
    };
    var party = new Party(groups, role.strength());
    boolean writes = touch.kind() != MemoryRequest.Kind.LOAD;
    int[] seen = writes && role.releases() ? clocks.seen(warp).clone() : null;
    for (int left = touch.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var places = touch.memory(lane) instanceof Allocation ? buffers : shared;
      if (role.observes()) {
        read(places, keys[lane], party, role, warp, lane);
      }
      if (writes && ((touch.unwritten >>> lane) & 1) == 0) {
        boolean atomic = touch.kind() == MemoryRequest.Kind.ATOMIC;
        write(places, keys[lane], party, atomic, seen, warp, lane);
      }
    }
    if (seen != null) {
      clocks.tick(warp);
    }
  }

  /**
   * A thread writes.
   *
   * @param seen what its warp knows, of a release operation; null = it is relaxed
   */
  private void write(
      ReleasedLocations places,
      long key,
      Party party,
      boolean atomic,
      int @Nullable [] seen,
      int warp,
      int lane) {
    int thread = 32 * warp + lane;
    if (seen != null) {
      releasedKeys[thread] = key;
      released[thread] = clocks.moment(warp, lane, seen);
      releasedStrengths[thread] = party.strength();
    }
    var here = releasedKeys[thread] == key ? released[thread] : null;
    places.write(
        key,
        party,
        atomic,
        here != null || fenced[0][thread] != null,
        group -> {
          var known = fenced[group][thread];
          var news =
              known == null ? null : clocks.publish(warp, lane, known, new SparseVectorClock());
          return here == null || group >= releasedStrengths[thread]
              ? news
              : clocks.publish(warp, lane, here, news == null ? new SparseVectorClock() : news);
        });
  }

  private void read(
      ReleasedLocations places, long key, Party party, MemoryEffect role, int warp, int lane) {
    int thread = 32 * warp + lane;
    long version = places.version(key);
    boolean again = lastVersions[thread] != 0 && lastKeys[thread] == key;
    if (version == 0
        || (again
            && lastVersions[thread] == version
            && lastInstructions[thread] == role.number())) {
      return;
    }
    lastVersions[thread] = version;
    lastKeys[thread] = key;
    lastInstructions[thread] = role.number();
    var before = again ? lastNews[thread] : ReleasedLocations.NOTHING;
    var news = places.read(key, party);
    for (int group = 0; group < GROUPS; group++) {
      news[group] = joined(before[group], news[group]);
      if (role.acquires() && group < role.strength()) {
        clocks.learn(warp, lane, news[group]);
        continue;
      }
      var known = pending[group][thread];
      pending[group][thread] = known == null ? news[group] : joined(known, news[group]);
    }
    lastNews[thread] = news;
  }

  private static SparseVectorClock joined(SparseVectorClock one, SparseVectorClock other) {
    if (one == other || other.isEmpty()) {
      return one;
    }
    if (one.isEmpty()) {
      return other;
    }
    var all = one.copy();
    all.join(other);
    return all;
  }
}
