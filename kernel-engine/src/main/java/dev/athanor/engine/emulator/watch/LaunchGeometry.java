package dev.athanor.engine.emulator.watch;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.Report.Index;
import dev.athanor.engine.device.Report.Place;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Warps;

/**
 * The shape of a launch: converts the numbers of blocks and threads to their indices.
 *
 * @param cluster the blocks of a cluster in each dimension
 */
public record LaunchGeometry(String kernel, Dim3 grid, Dim3 block, Dim3 cluster) {

  /** Warps of a warpgroup (PTX ISA 9.7.15). */
  public static final int WARPGROUP = 4;

  private static Index index(long number, Dim3 in) {
    return new Index(
        (int) (number % in.x()),
        (int) (number / in.x() % in.y()),
        (int) (number / in.x() / in.y()));
  }

  /**
   * Returns the place of a thread at an instruction.
   *
   * @param number of the block in the grid
   * @param thread its number in the block
   */
  public Place of(long number, int thread, Instruction instruction) {
    var text = instruction.toString();
    return new Place(
        kernel,
        text.substring(0, text.length() - 1),
        instruction.source(),
        index(number, grid),
        index(thread, block),
        thread >> 5,
        Warps.laneOf(thread));
  }

  /** Returns the warps of a block. */
  public int warps() {
    return Math.toIntExact(Math.ceilDiv(block.count(), Warps.SIZE));
  }

  /** Returns the blocks of a cluster. */
  public int blocks() {
    return (int) cluster.count();
  }

  /**
   * Returns the place of a thread at an instruction.
   *
   * @param number of the cluster in the grid
   * @param thread its number in the cluster
   */
  public Place inCluster(long number, int thread, Instruction instruction) {
    int threads = Warps.SIZE * warps();
    return of(number(grid, cluster, number, thread / threads), thread % threads, instruction);
  }

  /** Returns the number in the grid, x varying fastest, of a block of a cluster. */
  public static long number(Dim3 grid, Dim3 shape, long cluster, int rank) {
    int wide = grid.x() / shape.x();
    int high = grid.y() / shape.y();
    long x = cluster % wide * shape.x() + rank % shape.x();
    long y = cluster / wide % high * shape.y() + rank / shape.x() % shape.y();
    long z = cluster / wide / high * shape.z() + rank / shape.x() / shape.y();
    return (z * grid.y() + y) * grid.x() + x;
  }

  /** Returns the number of the cluster of a block. */
  public long clusterOf(long number) {
    var at = index(number, grid);
    long wide = grid.x() / cluster.x();
    long high = grid.y() / cluster.y();
    return (at.z() / cluster.z() * high + at.y() / cluster.y()) * wide + at.x() / cluster.x();
  }
}
