package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.Allocation;
import dev.athanor.engine.emulator.sanitizer.clocks.ReleasedLocations;
import dev.athanor.engine.emulator.sanitizer.clocks.ReleasedLocations.Party;
import dev.athanor.engine.emulator.sanitizer.clocks.SparseVectorClock;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks.Moment;
import dev.athanor.engine.emulator.watch.MemoryRequest;
import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Release and acquire patterns of the threads of a cluster (PTX ISA 8.8): what fences cover, and
 * what strong accesses release and acquire. Warps and threads are numbered through the blocks of
 * the cluster.
 */
final class ReleaseAcquire {

  /** The groups of threads that a scope can include: the block, the cluster, all threads. */
  private static final int GROUPS = AccessStamp.DEVICE;

  /** The clocks that a read observes if nothing was released. */
  private static final SparseVectorClock[] NOTHING = ReleasedLocations.nothing();

  private final VectorClocks clocks;
  private final ReleasedLocations buffers;
  private final ReleasedLocations shared = new ReleasedLocations();
  private final int warpsOfBlock;

  /** By group and thread: the knowledge of the thread at its last releasing fence for the group. */
  private final @Nullable Moment[][] fenced;

  /** By group and thread: the clock that the next acquiring fence for the group acquires. */
  private final @Nullable SparseVectorClock[][] pending;

  /**
   * The location of each thread's last release operation, the thread's knowledge then, and the
   * scope of the operation. A later strong write of the thread to that location completes a release
   * pattern too.
   */
  private final long[] releasedKeys;

  private final @Nullable Moment[] released;
  private final int[] releasedStrengths;

  /**
   * The location of each thread's last strong read, its instruction, and the version of the
   * location then. A thread that polls in a loop reads the same version many times.
   */
  private final long[] lastKeys;

  private final int[] lastInstructions;
  private final long[] lastVersions;

  /**
   * By thread: the clocks that its reads of that location observed. A later acquire operation there
   * acquires them as well.
   */
  private final SparseVectorClock[][] lastObserved;

  private long cluster;

  /**
   * @param buffers the releases of all blocks in global memory
   */
  ReleaseAcquire(VectorClocks clocks, ReleasedLocations buffers, int warps, int warpsOfBlock) {
    this.clocks = clocks;
    this.buffers = buffers;
    this.warpsOfBlock = warpsOfBlock;
    int threads = Warps.SIZE * warps;
    this.fenced = new @Nullable Moment[GROUPS][threads];
    this.pending = new @Nullable SparseVectorClock[GROUPS][threads];
    this.releasedKeys = new long[threads];
    this.released = new @Nullable Moment[threads];
    this.releasedStrengths = new int[threads];
    this.lastKeys = new long[threads];
    this.lastInstructions = new int[threads];
    this.lastVersions = new long[threads];
    this.lastObserved = new SparseVectorClock[threads][];
    Arrays.fill(lastObserved, NOTHING);
  }

  /** A cluster begins. */
  void begin(long number) {
    cluster = number;
    shared.clear();
    for (int group = 0; group < GROUPS; group++) {
      Arrays.fill(fenced[group], null);
      Arrays.fill(pending[group], null);
    }
    Arrays.fill(released, null);
    Arrays.fill(lastVersions, 0);
    Arrays.fill(lastObserved, NOTHING);
  }

  /** A fence acquires what strong reads have observed, and lets later writes release. */
  void fence(int warp, int lanes, MemoryEffect fence) {
    if (lanes == 0) {
      return;
    }
    int[] seen = clocks.seen(warp).clone();
    for (int left = lanes; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      int thread = Warps.thread(warp, lane);
      for (int group = 0; fence.acquires() && group < fence.strength(); group++) {
        var observed = pending[group][thread];
        if (observed != null) {
          clocks.acquire(warp, lane, observed);
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
   * @param keys of their locations
   */
  void access(Access access, long[] keys) {
    var request = access.request();
    var effect = access.effect();
    int warp = access.warp();
    long[] groups = {
      cluster * 32 + warp / warpsOfBlock, cluster * 32 + 31, ReleasedLocations.ALL_THREADS
    };
    var party = new Party(groups, effect.strength());
    boolean writes = access.writes();
    int[] seen = writes && effect.releases() ? clocks.seen(warp).clone() : null;
    for (int left = request.mask; left != 0; left &= left - 1) {
      int lane = Integer.numberOfTrailingZeros(left);
      var locations = request.memory(lane) instanceof Allocation ? buffers : shared;
      if (effect.observes()) {
        read(locations, keys[lane], party, effect, warp, lane);
      }
      if (writes && ((request.unwritten >>> lane) & 1) == 0) {
        boolean atomic = request.kind() == MemoryRequest.Kind.ATOMIC;
        write(locations, keys[lane], party, atomic, seen, warp, lane);
      }
    }
    if (seen != null) {
      clocks.tick(warp);
    }
  }

  /**
   * A thread writes.
   *
   * @param seen the knowledge of its warp if the write is a release operation; null = it is relaxed
   */
  private void write(
      ReleasedLocations locations,
      long key,
      Party party,
      boolean atomic,
      int @Nullable [] seen,
      int warp,
      int lane) {
    int thread = Warps.thread(warp, lane);
    if (seen != null) {
      releasedKeys[thread] = key;
      released[thread] = clocks.moment(warp, lane, seen);
      releasedStrengths[thread] = party.strength();
    }
    var here = releasedKeys[thread] == key ? released[thread] : null;
    locations.write(
        key,
        party,
        atomic,
        here != null || fenced[0][thread] != null,
        group -> {
          var known = fenced[group][thread];
          var clock =
              known == null ? null : clocks.publish(warp, lane, known, new SparseVectorClock());
          return here == null || group >= releasedStrengths[thread]
              ? clock
              : clocks.publish(warp, lane, here, clock == null ? new SparseVectorClock() : clock);
        });
  }

  private void read(
      ReleasedLocations locations, long key, Party party, MemoryEffect effect, int warp, int lane) {
    int thread = Warps.thread(warp, lane);
    long version = locations.version(key);
    boolean again = lastVersions[thread] != 0 && lastKeys[thread] == key;
    if (version == 0
        || (again
            && lastVersions[thread] == version
            && lastInstructions[thread] == effect.number())) {
      return;
    }
    lastVersions[thread] = version;
    lastKeys[thread] = key;
    lastInstructions[thread] = effect.number();
    var before = again ? lastObserved[thread] : NOTHING;
    var observed = locations.read(key, party);
    for (int group = 0; group < GROUPS; group++) {
      observed[group] = joined(before[group], observed[group]);
      if (effect.acquires() && group < effect.strength()) {
        clocks.acquire(warp, lane, observed[group]);
        continue;
      }
      var known = pending[group][thread];
      pending[group][thread] = known == null ? observed[group] : joined(known, observed[group]);
    }
    lastObserved[thread] = observed;
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
