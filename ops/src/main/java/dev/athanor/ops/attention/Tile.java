package dev.athanor.ops.attention;

import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Order;

/**
 * How a block of threads multiplies: it holds some rows and goes over the columns tile by tile.
 *
 * @param rows of a block: queries, or in the kernel of the keys' gradients keys
 * @param columns of a tile: keys, or there queries; a multiple of 16
 * @param warpRows rows of a warp: 16 or 32 of {@link Unit#TENSOR}, an even number of {@link
 *     Unit#CORES}
 */
public record Tile(Unit unit, int rows, int columns, int warpRows) {

  /** What multiplies. */
  public enum Unit {
    /** One multiply-add a lane. */
    CORES,
    /** {@code mma.sync.m16n8k16}. */
    TENSOR
  }

  public int threads() {
    return rows / warpRows * 32;
  }

  /**
   * Returns a scheduler of the tiles of rows.
   *
   * @param causal whether the last queries see the most keys: they begin first
   */
  public TileScheduler scheduler(boolean causal) {
    return TileScheduler.ofRows(rows, causal ? Order.LAST_ROW_FIRST : Order.ROWS);
  }

  @Override
  public String toString() {
    return (unit == Unit.CORES ? "cores_" : "tensor_") + rows + "x" + columns + "w" + warpRows;
  }
}
