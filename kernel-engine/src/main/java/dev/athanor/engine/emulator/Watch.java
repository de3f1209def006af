package dev.athanor.engine.emulator;

import java.util.Arrays;
import java.util.IdentityHashMap;

/**
 * What the sanitizer knows of the blocks of a cluster that a worker runs together. Warps and
 * threads are numbered through the cluster.
 */
final class Watch {

  /**
   * The shared memory of one block.
   *
   * @param rank of the block
   */
  record Shared(int rank, SharedShadow shadow, DefinedBytes defined) {}

  final Sanitizer.Launch launch;
  final Clocks clocks;
  final CopyClocks copies;
  final Ordering ordering;

  /** The lanes of each warp that have not ended. */
  final int[] live;

  private final IdentityHashMap<Memory, Shared> shared = new IdentityHashMap<>();
  private final int warpsOfBlock;

  /** How often each thread has arrived at the barrier of the cluster. */
  private final int[] arrivals;

  /** The round of that barrier for which something was last brought to it. */
  private int round;

  private long cluster;

  Watch(Sanitizer.Launch launch) {
    this.launch = launch;
    this.warpsOfBlock = launch.places.warps();
    int warps = launch.places.blocks() * warpsOfBlock;
    this.live = new int[warps];
    this.arrivals = new int[32 * warps];
    this.clocks = new Clocks(warps, Barriers.COUNT * launch.places.blocks() + 2);
    this.copies = new CopyClocks(32 * warps);
    this.ordering = new Ordering(clocks, launch.released, warps, warpsOfBlock);
  }

  /** Takes note of whose shared memory is whose. */
  void own(int rank, Memory memory) {
    int bytes = Math.toIntExact(memory.segment().byteSize());
    shared.put(
        memory, new Shared(rank, new SharedShadow(bytes, live.length), new DefinedBytes(bytes)));
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
    return Barriers.COUNT * launch.places.blocks() + (of & 1);
  }

  /** Lanes arrive at the barrier of the cluster. */
  void arrive(int warp, int lanes, boolean releases) {
    for (int left = lanes; left != 0; left &= left - 1) {
      int thread = 32 * warp + Integer.numberOfTrailingZeros(left);
      arrivals[thread]++;
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
    if (lanes != 0) {
      clocks.leave(barrier(arrivals[32 * warp + Integer.numberOfTrailingZeros(lanes)]), warp);
    }
  }
}
