package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.sanitizer.clocks.VectorClocks;
import dev.athanor.engine.emulator.watch.ObservedMbarrier;
import dev.athanor.engine.emulator.watch.Observer;
import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * The history of the blocks of a cluster. A worker reuses it for one cluster after another. Warps
 * and threads are numbered through the cluster.
 */
final class ClusterHistory {

  /**
   * The shared memory of one block.
   *
   * @param rank of the block
   */
  record Shared(
      int rank, SharedShadow shadow, DefinedBytes defined, AsyncHistory.LiveMbarriers mbarriers) {}

  final LaunchHistory launch;
  final VectorClocks clocks;
  final CopyClocks copies;
  final ReleaseAcquire ordering;
  final AsyncHistory async;
  final TensorMaps maps;

  /** For each warp the lanes that have not exited. */
  final int[] live;

  private final IdentityHashMap<Memory, Shared> shared = new IdentityHashMap<>();
  private final int warpsOfBlock;

  /** For each thread its arrivals at the cluster barrier. */
  private final int[] arrivals;

  /** The last round of that barrier at which any thread has arrived. */
  private int round;

  private long cluster;

  ClusterHistory(LaunchHistory launch) {
    this.launch = launch;
    int blocks = launch.geometry.blocks();
    this.warpsOfBlock = launch.geometry.warps();
    int warps = blocks * warpsOfBlock;
    this.live = new int[warps];
    this.arrivals = new int[Warps.SIZE * warps];
    this.clocks = new VectorClocks(warps, Observer.BARRIERS * blocks + 2);
    this.copies = new CopyClocks(Warps.SIZE * warps);
    this.async = new AsyncHistory(clocks, launch.agentNumbers, Warps.SIZE * warps);
    this.maps = new TensorMaps(launch, clocks);
    this.ordering = new ReleaseAcquire(clocks, launch.released, warps, warpsOfBlock);
  }

  /** Adds the shared memory of the blocks of a rank. */
  void addShared(int rank, Memory memory) {
    int bytes = Math.toIntExact(memory.segment().byteSize());
    shared.put(
        memory,
        new Shared(
            rank,
            new SharedShadow(bytes, live.length),
            new DefinedBytes(bytes),
            async.live(memory)));
  }

  /** Returns the valid mbarriers in the shared memory of a block. */
  Collection<ObservedMbarrier> mbarriers(int rank) {
    for (var each : shared.values()) {
      if (each.rank() == rank) {
        return each.mbarriers().all();
      }
    }
    return List.of();
  }

  /** Returns the shared memory of a block of the cluster. */
  Shared shared(Memory memory) {
    var known = shared.get(memory);
    if (known == null) {
      throw new IllegalArgumentException("shared memory of no block of this cluster");
    }
    return known;
  }

  /** A block of a cluster begins. The first one begins the cluster. */
  void begin(long block, int rank) {
    if (rank == 0) {
      cluster = launch.geometry.clusterOf(block);
      clocks.begin(cluster);
      copies.begin();
      async.begin();
      maps.begin((int) cluster);
      ordering.begin(cluster);
      Arrays.fill(arrivals, 0);
      round = 0;
      shared
          .values()
          .forEach(each -> {
            each.shadow().begin((int) cluster);
            each.defined().clear();
          });
    }
    int threads = (int) launch.geometry.block().count();
    for (int warp = 0; warp < warpsOfBlock; warp++) {
      live[rank * warpsOfBlock + warp] =
          (int) DefinedBytes.ones(Math.min(Warps.SIZE, threads - Warps.SIZE * warp));
    }
  }

  /** Returns the number of the cluster in the grid. */
  long cluster() {
    return cluster;
  }

  /** Returns the rank of the block of a warp. */
  int rankOf(int warp) {
    return warp / warpsOfBlock;
  }

  /** Returns whether all threads of a block have exited. */
  boolean hasEnded(int rank) {
    for (int warp = rank * warpsOfBlock; warp < (rank + 1) * warpsOfBlock; warp++) {
      if (live[warp] != 0) {
        return false;
      }
    }
    return true;
  }

  /** Returns the barrier in the clocks for a round of the cluster barrier. */
  private int barrier(int ofRound) {
    return Observer.BARRIERS * launch.geometry.blocks() + (ofRound & 1);
  }

  /** Lanes arrive at the cluster barrier. */
  void arrive(int warp, int lanes, boolean releases) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(warp, left);
      arrivals[thread]++;
      async.arrive(thread, arrivals[thread]);
      if (arrivals[thread] > round) {
        // no thread waits for the round before the last any more
        round = arrivals[thread];
        clocks.clear(barrier(round));
      }
    }
    if (releases && lanes != 0) {
      clocks.arrive(barrier(round), warp);
    }
  }

  /** Lanes have waited at the cluster barrier. */
  void join(int warp, int lanes) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = Warps.firstThread(warp, left);
      async.join(thread, arrivals[thread]);
    }
    if (lanes != 0) {
      clocks.leave(barrier(arrivals[Warps.firstThread(warp, lanes)]), warp);
    }
  }
}
