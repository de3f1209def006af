package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.List;
import java.util.function.Consumer;

/**
 * A block that stays on its multiprocessor and computes one tile after another: a warpgroup copies
 * to a {@link StageRing}, the others multiply. The tiles of a cluster's blocks are below each
 * other.
 */
public final class PersistentBlock {

  /** Registers of a thread that copies. */
  private static final int COPYING = 40;

  /** Registers of a thread that multiplies. */
  private static final int MULTIPLYING = 232;

  private final KernelBuilder k;
  private final SharedTile shared;
  private final Cluster cluster;
  private final StageRing ring;

  /**
   * Declares the shared memory of a block, which begins with the stages.
   *
   * @param blocks of a cluster
   * @param mbarriers offset of those of the ring in shared memory, in bytes
   */
  public PersistentBlock(KernelBuilder k, int blocks, int stages, int mbarriers) {
    this.k = k;
    shared = k.dynamicShared(Stage.REPEAT);
    cluster = new Cluster(k, blocks);
    ring = new StageRing(k, cluster, new Mbarriers(k, shared.at(k.integer(mbarriers))), stages);
  }

  public SharedTile shared() {
    return shared;
  }

  public Cluster cluster() {
    return cluster;
  }

  public StageRing ring() {
    return ring;
  }

  /**
   * Divides the block among a warpgroup that copies and those that multiply.
   *
   * @param tensors that are copied
   * @param readers arrivals in each block that free a stage
   * @param groups warpgroups that multiply
   * @param copy emits the code of the warp that copies
   * @param multiply emits the code of the other warpgroups, given their index among themselves
   */
  public void divide(
      List<TensorParameter> tensors,
      int readers,
      int groups,
      Runnable copy,
      Consumer<Int> multiply) {
    k.when(
        k.thread().eq(0),
        () -> {
          ring.initialize(readers);
          tensors.forEach(TensorParameter::prefetch);
        });
    cluster.awaitMbarriers();
    WarpRole.divide(
        k,
        List.of(
            new WarpRole(1, COPYING, _ -> k.when(k.thread().lt(KernelBuilder.WARP), copy)),
            new WarpRole(groups, MULTIPLYING, multiply)));
    if (cluster.blocks() > 1) {
      // a block must not end while the readers of others still arrive at its mbarriers
      cluster.barrier();
    }
  }

  /**
   * Runs code for each tile of this block.
   *
   * @param scheduler of the tiles of clusters
   * @param rows of a matrix
   * @param columns of a matrix
   * @param tiles of clusters in all matrices
   * @param height rows of the tile of a block
   */
  public void eachTile(
      TileScheduler scheduler, Int rows, Int columns, Int tiles, int height, Consumer<Tile> body) {
    k.loop(
        cluster.index(),
        tiles,
        cluster.count(),
        index -> body.accept(ofBlock(scheduler.tile(k, index, rows, columns), height)));
  }

  /** Returns this block's tile of a tile of its cluster. */
  Tile ofBlock(Tile ofCluster, int height) {
    var row = ofCluster.row().plus(cluster.rank().times(height));
    return new Tile(ofCluster.matrix(), row, ofCluster.column());
  }
}
