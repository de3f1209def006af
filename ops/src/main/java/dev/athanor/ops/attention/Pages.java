package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.ptx.Type;

/**
 * The rows of a head in a paged cache: blocks {@code [blocks, heads, blockSize, D]} and a block
 * table {@code [B, maxBlocks]}.
 *
 * @param last the last valid row; greater rows are clamped to it, so that unused table entries are
 *     not read
 */
public record Pages(
    GlobalPointer table,
    Int batch,
    Int head,
    Int heads,
    Int last,
    Int maxBlocks,
    Int blocks,
    Int blockSize) {

  /**
   * Where a row is.
   *
   * @param matrix the index of its block and head among those of all blocks
   */
  public record Place(Int matrix, Int row) {}

  /** Returns the place of a row of the sequence. */
  public Place place(Int row) {
    var here = row.min(last);
    var page = here.div(blockSize);
    var entry = table.load(batch.times(maxBlocks).plus(page)).integer();
    // clamp invalid entries to stay within the cache
    var block = entry.max(zero()).min(blocks.plus(-1));
    return new Place(block.times(heads).plus(head), here.minus(page.times(blockSize)));
  }

  /** Returns the rows of the sequence in an array of blocks. */
  public RowCopy.Rows rows(GlobalPointer pool, Int ld) {
    return new RowCopy.Rows() {
      @Override
      public Type element() {
        return pool.element();
      }

      @Override
      public GlobalPointer at(Int row) {
        var place = place(row);
        return pool.matrix(place.matrix, blockSize.wide().times(ld)).row(place.row, ld);
      }

      @Override
      public GlobalPointer advance(GlobalPointer pointer, Int row, Int column, int by) {
        return at(row).plus(column.wide());
      }
    };
  }

  private Int zero() {
    return head.times(0);
  }
}
