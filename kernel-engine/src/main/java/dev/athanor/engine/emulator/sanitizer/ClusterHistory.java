package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.watch.AsyncObserver;
import dev.athanor.engine.emulator.watch.ClusterObserver;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.emulator.watch.Observer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * What the sanitizer knows of the blocks of a cluster that a worker runs together. Warps and
 * threads are numbered through the cluster.
 */
final class ClusterHistory implements ClusterObserver {

  /**
   * The shared memory of one block.
   *
   * @param rank of the block
   */
  record Shared(int rank, SharedShadow shadow, DefinedBytes defined, LiveMbarriers mbarriers) {}

  /** The mbarriers of one block that have not been given up, by their offsets. */
  static final class LiveMbarriers {
    private final Map<Long, ObservedMbarrier> all = new HashMap<>();

    boolean isEmpty() {
      return all.isEmpty();
    }

    Collection<ObservedMbarrier> all() {
      return all.values();
    }

    void add(long offset, ObservedMbarrier barrier) {
      all.put(offset, barrier);
    }

    void remove(long offset) {
      all.remove(offset);
    }

    void clear() {
      all.clear();
    }

    /** Whether any of some bytes is that of an mbarrier. */
    boolean isHit(long offset, int bytes) {
      if (all.isEmpty()) {
        return false;
      }
      for (long at = offset & -Long.BYTES; at < offset + bytes; at += Long.BYTES) {
        if (all.containsKey(at)) {
          return true;
        }
      }
      return false;
    }
  }

  final SanitizedLaunch launch;
  final VectorClocks clocks;
  final CopyClocks copies;
  final ReleaseAcquire ordering;
  final AsyncHistory async;

  /** The lanes of each warp that have not ended. */
  final int[] live;

  private final IdentityHashMap<Memory, Shared> shared = new IdentityHashMap<>();
  private final int warpsOfBlock;

  /** How often each thread has arrived at the barrier of the cluster. */
  private final int[] arrivals;

  /** By rank. */
  private final List<Sanitizer> sanitizers = new ArrayList<>();

  /** The round of that barrier for which something was last brought to it. */
  private int round;

  private long cluster;

  ClusterHistory(SanitizedLaunch launch) {
    this.launch = launch;
    this.warpsOfBlock = launch.places.warps();
    int warps = launch.places.blocks() * warpsOfBlock;
    this.live = new int[warps];
    this.arrivals = new int[32 * warps];
    this.clocks = new VectorClocks(warps, Observer.BARRIERS * launch.places.blocks() + 2);
    this.copies = new CopyClocks(32 * warps);
    this.async = new AsyncHistory(this);
    this.ordering = new ReleaseAcquire(clocks, launch.released, warps, warpsOfBlock);
    for (int rank = 0; rank < launch.places.blocks(); rank++) {
      sanitizers.add(new Sanitizer(this, rank));
    }
  }

  @Override
  public Observer observer(int rank) {
    return sanitizers.get(rank);
  }

  @Override
  public AsyncObserver asyncObserver(int rank) {
    return sanitizers.get(rank).async();
  }

  @Override
  public void ownsShared(int rank, Memory memory) {
    int bytes = Math.toIntExact(memory.segment().byteSize());
    shared.put(
        memory,
        new Shared(
            rank,
            new SharedShadow(bytes, live.length),
            new DefinedBytes(bytes),
            new LiveMbarriers()));
  }

  /** The mbarriers in the shared memory of a block that have not been given up. */
  Collection<ObservedMbarrier> mbarriers(int rank) {
    return shared.values().stream()
        .filter(each -> each.rank() == rank)
        .flatMap(each -> each.mbarriers().all().stream())
        .toList();
  }

  /** The shared memory of a block of the cluster. */
  Shared shared(Memory memory) {
    var known = shared.get(memory);
    if (known == null) {
      throw new IllegalArgumentException("shared memory of no block of this cluster");
    }
    return known;
  }

  /** A block of a cluster begins; its first begins the cluster. */
  void begin(long block, int rank) {
    if (rank == 0) {
      cluster = launch.places.clusterOf(block);
      clocks.begin(cluster);
      copies.begin();
      async.begin();
      ordering.begin(cluster);
      Arrays.fill(arrivals, 0);
      round = 0;
      shared
          .values()
          .forEach(each -> {
            each.shadow().begin((int) cluster);
            each.defined().clear();
            each.mbarriers().clear();
          });
    }
    int threads = (int) launch.places.block().count();
    for (int warp = 0; warp < warpsOfBlock; warp++) {
      live[rank * warpsOfBlock + warp] = (int) DefinedBytes.ones(Math.min(32, threads - 32 * warp));
    }
  }

  /** The number of the cluster in the grid. */
  long cluster() {
    return cluster;
  }

  int rankOf(int warp) {
    return warp / warpsOfBlock;
  }

  /** Whether all threads of a block have ended. */
  boolean hasEnded(int rank) {
    for (int warp = rank * warpsOfBlock; warp < (rank + 1) * warpsOfBlock; warp++) {
      if (live[warp] != 0) {
        return false;
      }
    }
    return true;
  }

  private int barrier(int of) {
    return Observer.BARRIERS * launch.places.blocks() + (of & 1);
  }

  /** Lanes arrive at the barrier of the cluster. */
  void arrive(int warp, int lanes, boolean releases) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      arrivals[thread]++;
      async.arrive(thread, arrivals[thread]);
      if (arrivals[thread] > round) {
        // nobody waits any more for the round before the last
        round = arrivals[thread];
        clocks.clear(barrier(round));
      }
    }
    if (releases && lanes != 0) {
      clocks.arrive(barrier(round), warp);
    }
  }

  /** Lanes have waited at the barrier of the cluster. */
  void join(int warp, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      async.join(thread, arrivals[thread]);
    }
    if (lanes != 0) {
      clocks.leave(barrier(arrivals[32 * warp + Integer.numberOfTrailingZeros(lanes)]), warp);
    }
  }
}
