package dev.athanor.ops.linear;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * The tile of a product that a block computes.
 *
 * @param matrices of the product
 * @param m end of the rows that belong to the product
 * @param group the group of rows, if there are groups
 */
public record ProductTile(
    BatchParameters.Matrices matrices,
    TileScheduler.Tile tile,
    Int m,
    Optional<GroupParameters.Group> group) {

  /** Returns the epilogue for the tile, whose column-wise operands a group has for itself. */
  public Epilogue.Applied epilogue(Epilogue.Applied ofAll, Int n) {
    return group.map(own -> ofAll.fromColumn(own.index().times(n))).orElse(ofAll);
  }

  /**
   * Computes the tile, or fills it with zeros if its rows belong to no group.
   *
   * @param shape of the tile
   * @param threads of the block
   */
  public void compute(KernelBuilder k, TileScheduler shape, int threads, Int n, Runnable product) {
    group.ifPresentOrElse(
        own -> k.when(own.exists(), product, () -> clear(k, shape, threads, n)), product);
  }

  private void clear(KernelBuilder k, TileScheduler shape, int threads, Int n) {
    var c = matrices.c();
    var zero = k.real(c.element() == Type.F64 ? Type.F64 : Type.F32, 0).to(c.element());
    k.loop(
        k.thread(),
        k.integer(shape.m() * shape.n()),
        threads,
        i -> {
          var row = tile.row().plus(i.div(shape.n()));
          var column = tile.column().plus(i.rem(shape.n()));
          c.row(row, n).storeWhere(row.lt(m).and(column.lt(n)), column, zero);
        });
  }
}
