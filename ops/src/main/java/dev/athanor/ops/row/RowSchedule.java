package dev.athanor.ops.row;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import java.util.function.Consumer;

/**
 * Assigns the rows of a kernel's tensors to teams of threads. The grid decides which method a
 * {@link RowFunction} calls: {@link #row} if the grid has a team for each row ({@link
 * RowPlanner#step}), {@link #forEach} if it has fewer, {@link #part} if several blocks share a row.
 */
public final class RowSchedule {
  private final KernelBuilder k;
  private final RowTile tile;
  private final Type number;
  private final Int count;

  /** The number of elements of a row. */
  public final Int n;

  RowSchedule(KernelBuilder k, RowTile tile, Type number, Int count, Int n) {
    this.k = k;
    this.tile = tile;
    this.number = number;
    this.count = count;
    this.n = n;
  }

  /** Returns the index of this thread's team in the grid. */
  public Int team() {
    return k.block().times(tile.rows()).plus(k.thread().div(tile.team()));
  }

  /** Returns the row of this thread's team, in a grid that has a team for each row. */
  public Row row() {
    return row(team());
  }

  private Row row(Int index) {
    return new Row(k, tile, number, index, count, n, k.integer(0));
  }

  /**
   * Returns the part of a row that this block computes, in a grid of {@code parts × rows} blocks.
   * {@link Row#read} reads the part, whose size is what a block of a whole tile holds.
   *
   * @throws IllegalStateException if the tile does not keep the whole part of one row in registers
   */
  public Row part() {
    if (!tile.whole() || tile.rows() != 1) {
      throw new IllegalStateException("blocks of tile " + tile + " do not hold a part of one row");
    }
    return new Row(
        k, tile, number, k.blockY(), count, n, k.block().times(tile.team() * tile.vectors()));
  }

  /**
   * Runs {@code body} for each row of this thread's team, in a grid of any size. All threads of a
   * block run it equally often.
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
