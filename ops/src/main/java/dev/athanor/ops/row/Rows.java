package dev.athanor.ops.row;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.function.Consumer;

/** The rows of a kernel's tensors, and which of them the teams of a block compute. */
public final class Rows {
  private final KernelBuilder k;
  private final RowTile tile;
  private final Int count;

  /** The elements of a row. */
  public final Int n;

  Rows(KernelBuilder k, RowTile tile, Int count, Int n) {
    this.k = k;
    this.tile = tile;
    this.count = count;
    this.n = n;
  }

  /** The number of this thread's team in the grid. */
  public Int team() {
    return k.block().times(tile.rows()).plus(k.thread().div(tile.team()));
  }

  /** The row of this thread's team, in a grid that has a team for each row. */
  public Row row() {
    return row(team());
  }

  private Row row(Int index) {
    return new Row(k, tile, index, count, n, k.integer(0));
  }

  /**
   * Returns the part of a row that this block computes, in a grid of {@code parts × rows} blocks.
   * {@link Row#read} reads the part, which is as much as a block of a whole tile holds.
   */
  public Row part() {
    if (!tile.whole() || tile.rows() != 1) {
      throw new IllegalStateException("blocks of tile " + tile + " do not hold a part of one row");
    }
    return new Row(k, tile, k.blockY(), count, n, k.block().times(tile.team() * tile.vectors()));
  }

  /**
   * Runs {@code body} for each row of this thread's team, in a grid of any size. All threads of a
   * block come to it as often.
   */
  public void forEach(Consumer<Row> body) {
    var step = k.read(SpecialRegister.NCTAID_X).times(tile.rows());
    k.loop(
        k.block().times(tile.rows()),
        count,
        step,
        first -> body.accept(row(first.plus(k.thread().div(tile.team())))));
  }
}
