package dev.athanor.ops.attention;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.DType;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Order;

/**
 * The tiling of a block, which holds a group of rows and iterates over tiles of columns.
 *
 * @param rows of a block: queries, or keys in the kernel of dk and dv
 * @param columns of a tile: keys, or queries in the kernel of dk and dv; a multiple of 16
 * @param warpRows rows of a warp: 16 or 32 for {@link Unit#TENSOR}, an even number for {@link
 *     Unit#FMA}
 * @param across warps that share rows: each computes all scores, and its part of the output
 */
public record Tile(Unit unit, int rows, int columns, int warpRows, int across) {

  /** Creates a tile in which one warp holds all columns of its rows of the output. */
  public Tile(Unit unit, int rows, int columns, int warpRows) {
    this(unit, rows, columns, warpRows, 1);
  }

  /** The execution unit of the products. */
  public enum Unit {
    /** FMA instructions. */
    FMA,
    /** {@code mma.sync.m16n8k16}. */
    TENSOR;

    /** Returns the unit for a dtype: tensor cores for 16-bit elements if the device has them. */
    public static Unit of(DType dtype, Capability device) {
      boolean multiplies = dtype.bytes() == 2 && Instruction.isNative(dtype, device);
      return multiplies ? TENSOR : FMA;
    }
  }

  public int threads() {
    return rows / warpRows * across * 32;
  }

  /**
   * Returns the scheduler of the row tiles.
   *
   * @param causal whether the last queries, which see the most keys, are scheduled first
   */
  public TileScheduler scheduler(boolean causal) {
    return TileScheduler.ofRows(rows, causal ? Order.LAST_ROW_FIRST : Order.ROWS);
  }

  @Override
  public String toString() {
    return (unit == Unit.FMA ? "cores_" : "tensor_")
        + rows
        + "x"
        + columns
        + "w"
        + warpRows
        + (across > 1 ? "x" + across : "");
  }
}
