package dev.athanor.engine.emulator.sanitizer;

import dev.athanor.engine.emulator.async.Mbarrier;
import dev.athanor.engine.emulator.memory.DefinedBytes;
import dev.athanor.engine.emulator.memory.Memory;
import dev.athanor.engine.emulator.run.NamedBarriers;
import java.util.Arrays;
import java.util.Collection;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What the sanitizer knows of the blocks of a cluster that a worker runs together. Warps and
 * threads are numbered through the cluster.
 */
public final class ClusterHistory {

  /**
   * The shared memory of one block.
   *
   * @param rank of the block
   */
  record Shared(int rank, SharedShadow shadow, DefinedBytes defined, LiveMbarriers mbarriers) {}

  /**
   * The mbarriers of one block, by their offsets.
   *
   * @param all changes as they are made
   */
  record LiveMbarriers(Map<Long, Mbarrier> all) {

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

  public final SanitizedLaunch launch;
  public final VectorClocks clocks;
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
  private final @Nullable AsyncSanitizer[] checks;

  /** The round of that barrier for which something was last brought to it. */
  private int round;

  private long cluster;

  public ClusterHistory(SanitizedLaunch launch) {
    this.launch = launch;
    this.warpsOfBlock = launch.places.warps();
    int warps = launch.places.blocks() * warpsOfBlock;
    this.live = new int[warps];
    this.arrivals = new int[32 * warps];
    this.clocks = new VectorClocks(warps, NamedBarriers.COUNT * launch.places.blocks() + 2);
    this.copies = new CopyClocks(32 * warps);
    this.async = new AsyncHistory(this);
    this.checks = new @Nullable AsyncSanitizer[launch.places.blocks()];
    this.ordering = new ReleaseAcquire(clocks, launch.released, warps, warpsOfBlock);
  }

  /** What a block's steps tell of their work beside the threads. */
  public AsyncSanitizer checks(int rank) {
    return Objects.requireNonNull(checks[rank]);
  }

  public void own(int rank, AsyncSanitizer own) {
    checks[rank] = own;
  }

  /** Takes note of whose shared memory, and mbarriers, are whose. */
  public void own(int rank, Memory memory, Map<Long, Mbarrier> mbarriers) {
    int bytes = Math.toIntExact(memory.segment().byteSize());
    shared.put(
        memory,
        new Shared(
            rank,
            new SharedShadow(bytes, live.length),
            new DefinedBytes(bytes),
            new LiveMbarriers(mbarriers)));
  }

  /** The mbarriers in the shared memory of a block that have not been given up. */
  Collection<Mbarrier> mbarriers(int rank) {
    return shared.values().stream()
        .filter(each -> each.rank() == rank)
        .flatMap(each -> each.mbarriers().all().values().stream())
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
    return NamedBarriers.COUNT * launch.places.blocks() + (of & 1);
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
