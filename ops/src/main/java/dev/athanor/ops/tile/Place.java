package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * Which tile of which product a block computes. Tiles are taken in bands of rows, so that blocks
 * that run at the same time read few rows of a and few columns of b.
 *
 * @param row the first in c
 * @param column the first in c
 */
public record Place(Int product, Int row, Int column) {

  private static final int BAND = 8;

  /** The tiles of a product. */
  public static Int tiles(TensorTile tile, Int m, Int n) {
    return rows(tile, m).times(columns(tile, n));
  }

  private static Int rows(TensorTile tile, Int m) {
    return m.plus(tile.m() - 1).div(tile.m());
  }

  private static Int columns(TensorTile tile, Int n) {
    return n.plus(tile.n() - 1).div(tile.n());
  }

  /** The place of a block, of those of all products one after the other. */
  public static Place of(KernelBuilder k, Int block, TensorTile tile, Int m, Int n) {
    var rows = rows(tile, m);
    var columns = columns(tile, n);
    var tiles = rows.times(columns);
    var product = block.div(tiles);
    var within = block.minus(product.times(tiles));
    var band = within.div(columns.times(BAND));
    var firstRow = band.times(BAND);
    var height = rows.minus(firstRow).min(k.integer(BAND));
    var inBand = within.minus(firstRow.times(columns));
    var column = inBand.div(height);
    var row = firstRow.plus(inBand.minus(column.times(height)));
    return new Place(product, row.times(tile.m()), column.times(tile.n()));
  }
}
