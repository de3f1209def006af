package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * Assigns the tiles of a launch to its blocks. Blocks compute all tiles of the first matrix of a
 * batch, then those of the next. Blocks along the second dimension of the grid may share K: see
 * {@link KRange}.
 *
 * @param m rows of a tile
 * @param n columns of a tile
 */
public record TileScheduler(int m, int n, Order order) {

  /** Rows of tiles in a band. */
  private static final int BAND = 8;

  /** The order in which blocks compute the tiles of a matrix. */
  public enum Order {
    /** Row by row. */
    ROWS,
    /** The last row of tiles first, for matrices whose last rows take the longest. */
    LAST_ROW_FIRST,
    /**
     * In bands of several rows of tiles, column by column within a band, so that concurrent blocks
     * read few rows of a and few columns of b.
     */
    BANDS
  }

  /**
   * The tile of a block.
   *
   * @param matrix its index in the batch
   * @param row first row in the matrix
   * @param column first column in the matrix
   */
  public record Tile(Int matrix, Int row, Int column) {}

  /** Returns a scheduler of products on tensor cores. */
  public static TileScheduler of(TensorTile tile) {
    return new TileScheduler(tile.m(), tile.n(), Order.BANDS);
  }

  /** Returns a scheduler of tiles that are as wide as their matrix. */
  public static TileScheduler ofRows(int rows, Order order) {
    return new TileScheduler(rows, 1, order);
  }

  /** Returns the number of tiles of a matrix. */
  public long tiles(int rows, int columns) {
    return Math.ceilDiv(rows, m) * (long) Math.ceilDiv(columns, n);
  }

  /** Returns the number of tiles of a matrix, in a kernel. */
  public Int tiles(Int rows, Int columns) {
    return tiles(rows, m).times(tiles(columns, n));
  }

  private static Int tiles(Int extent, int ofTile) {
    return extent.plus(ofTile - 1).div(ofTile);
  }

  /** Returns the tile of this block in a two-dimensional grid of tiles. */
  public Tile tileOfGrid(KernelBuilder k) {
    return new Tile(k.integer(0), k.blockY().times(m), k.block().times(n));
  }

  /** Returns the tile of this block if tiles are as wide as their matrix. */
  public Tile tile(KernelBuilder k, Int rows) {
    var down = tiles(rows, m);
    var position = Position.of(down, k.block());
    return new Tile(position.matrix, row(position.index, down).times(m), k.integer(0));
  }

  /** Returns the row of tiles that comes after {@code before} others. */
  private Int row(Int before, Int down) {
    return order == Order.LAST_ROW_FIRST ? down.minus(before).plus(-1) : before;
  }

  /** Returns the tile of this block in a one-dimensional grid. */
  public Tile tile(KernelBuilder k, Int rows, Int columns) {
    return tile(k, Position.of(tiles(rows, columns), k.block()), rows, columns);
  }

  /**
   * Returns the tile of a block.
   *
   * @param block index of the block among those of all matrices
   * @param rows rows of each matrix
   * @param columns columns of each matrix
   */
  public Tile tile(KernelBuilder k, Int block, Int rows, Int columns) {
    return tile(k, Position.of(tiles(rows, columns), block), rows, columns);
  }

  private Tile tile(KernelBuilder k, Position position, Int rows, Int columns) {
    var across = tiles(columns, n);
    if (order != Order.BANDS) {
      var before = position.index.div(across);
      return new Tile(
          position.matrix,
          row(before, tiles(rows, m)).times(m),
          position.index.minus(before.times(across)).times(n));
    }
    var firstRow = position.index.div(across.times(BAND)).times(BAND);
    var height = tiles(rows, m).minus(firstRow).min(k.integer(BAND));
    var inBand = position.index.minus(firstRow.times(across));
    var column = inBand.div(height);
    var row = firstRow.plus(inBand.minus(column.times(height)));
    return new Tile(position.matrix, row.times(m), column.times(n));
  }

  /**
   * The position of a tile in a batch of matrices.
   *
   * @param matrix its index in the batch
   * @param index the number of tiles of the matrix that come before it
   */
  private record Position(Int matrix, Int index) {

    static Position of(Int tilesOfMatrix, Int block) {
      var matrix = block.div(tilesOfMatrix);
      return new Position(matrix, block.minus(matrix.times(tilesOfMatrix)));
    }
  }
}
