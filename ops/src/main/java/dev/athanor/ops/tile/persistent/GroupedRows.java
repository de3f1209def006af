package dev.athanor.ops.tile.persistent;

import dev.athanor.engine.author.Cluster;
import dev.athanor.engine.author.Int;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Tile;
import java.util.function.BiConsumer;

/**
 * Groups of rows of a, each with a matrix b of its own. How many rows a group has is known when the
 * kernel runs.
 */
public interface GroupedRows {

  /**
   * Runs code for each tile of a cluster, which has rows of one group. All lanes of a warp must
   * call it; the code runs for the same tiles in all warps of the cluster.
   *
   * @param scheduler of the tiles of clusters, within a group
   * @param m rows of a
   * @param body emits the code, given the tile, whose matrix is the group, and the end of the rows
   *     of its group
   * @return the end of the rows of all groups
   */
  Int eachTile(Cluster cluster, TileScheduler scheduler, Int m, Int n, BiConsumer<Tile, Int> body);
}
