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
    return new Row(k, tile, team(), count, n);
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
        first -> body.accept(new Row(k, tile, first.plus(k.thread().div(tile.team())), count, n)));
  }
}
