package dev.athanor.engine.emulator.step;

import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;
import java.util.Arrays;

/**
 * The barrier of a cluster (PTX ISA 9.7.13.4): each thread arrives once, then waits; exited threads
 * count as arrived.
 */
public final class ClusterBarrier {

  private final Cluster cluster;

  /** The number of times the barrier has opened. */
  private long phase;

  /** By rank and warp, the lanes that have arrived and not yet waited. */
  private int[][] arrived = {};

  /** By rank and lane, the phase in which the lane arrived. */
  private long[][] phases = {};

  ClusterBarrier(Cluster cluster) {
    this.cluster = cluster;
  }

  public void clear() {
    phase = 0;
    if (arrived.length == 0) {
      arrived = new int[cluster.size()][];
      phases = new long[cluster.size()][];
      for (int rank = 0; rank < cluster.size(); rank++) {
        int warps = cluster.block(rank).live.length;
        arrived[rank] = new int[warps];
        phases[rank] = new long[warps * 32];
      }
    }
    for (int[] warps : arrived) {
      Arrays.fill(warps, 0);
    }
  }

  /** Records the arrival of lanes of a warp. */
  private void arrive(Block block, Instruction instruction, int warp, int mask) {
    int again = arrived[block.rank][warp] & mask;
    if (again != 0) {
      throw block.fault(
          Warps.firstThread(warp, again),
          instruction,
          "arrives at the barrier of the cluster again before it has waited");
    }
    arrived[block.rank][warp] |= mask;
    for (int left = mask; left != 0; left &= left - 1) {
      phases[block.rank][Warps.firstThread(warp, left)] = phase;
    }
    open();
  }

  /** Opens the barrier if all live threads have arrived in its phase. */
  public void open() {
    for (int rank = 0; rank < cluster.size(); rank++) {
      int[] live = cluster.block(rank).live;
      for (int warp = 0; warp < live.length; warp++) {
        for (int left = live[warp]; left != 0; left &= left - 1) {
          int lane = Integer.numberOfTrailingZeros(left);
          if (((arrived[rank][warp] >>> lane) & 1) == 0
              || phases[rank][Warps.thread(warp, lane)] != phase) {
            return;
          }
        }
      }
    }
    phase++;
    for (int rank = 0; rank < cluster.size(); rank++) {
      cluster.block(rank).progress();
    }
  }

  /** {@code barrier.cluster.arrive}. */
  public record Arrive(Block block, Instruction instruction) implements Step {
    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        if (block.active[warp] != 0) {
          block.cluster.barrier().arrive(block, instruction, warp, block.active[warp]);
        }
      }
    }
  }

  /** {@code barrier.cluster.wait}. */
  public record Wait(Block block, Instruction instruction) implements Step.Event {
    @Override
    public boolean isReady(int warp, int mask) {
      var barrier = block.cluster.barrier();
      int strangers = mask & ~barrier.arrived[block.rank][warp];
      if (strangers != 0) {
        throw block.fault(
            Warps.firstThread(warp, strangers),
            instruction,
            "waits at the barrier of the cluster, at which it has not arrived");
      }
      for (int left = mask; left != 0; left &= left - 1) {
        int lane = Integer.numberOfTrailingZeros(left);
        if (barrier.phases[block.rank][Warps.thread(warp, lane)] == barrier.phase) {
          return false;
        }
      }
      return true;
    }

    @Override
    public void execute(int first, int end, boolean whole) {
      for (int warp = first; warp < end; warp++) {
        block.cluster.barrier().arrived[block.rank][warp] &= ~block.active[warp];
        if (block.observer != null) {
          block.observer.joined(warp, block.active[warp]);
        }
      }
    }

    @Override
    public String missing(int warp, int mask) {
      var cluster = block.cluster;
      int absent = 0;
      for (int rank = 0; rank < cluster.size(); rank++) {
        int[] live = cluster.block(rank).live;
        for (int other = 0; other < live.length; other++) {
          absent += Integer.bitCount(live[other] & ~cluster.barrier().arrived[rank][other]);
        }
      }
      return "%d threads of the cluster have not arrived at its barrier".formatted(absent);
    }
  }
}
