package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Brings stages of a matrix of the elements that are multiplied, with as many bytes at once as its
 * rows are aligned to: in asynchronous copies of 4, 8 or 16, fewer through registers.
 *
 * @param first the first row or column of c that the block computes
 * @param threads of the block, a power of two
 */
record MatrixStaging(
    KernelBuilder k,
    SharedTile shared,
    Stage stage,
    TensorMatmul.Source matrix,
    Int first,
    int threads)
    implements Producer {

  /** The fewest bytes that an asynchronous copy moves. */
  static final int LEAST_COPY = 4;

  /**
   * What one thread moves at once.
   *
   * @param row in shared memory
   * @param column in shared memory
   * @param source the row that it is read from
   * @param index where in that row
   * @param inside whether the matrix has it: rows are as long as a multiple of {@code access}, so
   *     all of it or nothing
   */
  private record Piece(Int row, Int column, GlobalPointer source, int index, Predicate inside) {}

  /** How many times a thread moves something to fill a stage. */
  static int pieces(Stage stage, int access, int threads) {
    return Math.ceilDiv(stage.bytes(), access * threads);
  }

  @Override
  public Runnable fill(Int offset, Int from) {
    return matrix.access() < LEAST_COPY ? load(offset, from) : copy(offset, from);
  }

  private Runnable copy(Int offset, Int from) {
    var to = stage.at(shared, offset);
    each(
        from,
        piece ->
            to.copyAsyncWhere(
                piece.inside,
                piece.row,
                piece.column,
                matrix.access(),
                piece.source,
                k.integer(piece.index)));
    return () -> {};
  }

  private Runnable load(Int offset, Int from) {
    int access = matrix.access();
    var unit = access == stage.element().bytes() ? stage.element() : Type.B16;
    var to = stage.at(shared, offset, unit);
    int elements = access / stage.element().bytes();
    List<Runnable> stores = new ArrayList<>();
    each(
        from,
        piece -> {
          var value =
              piece.source.as(unit).loadWhere(piece.inside, k.integer(piece.index / elements));
          stores.add(() -> to.store(piece.row, piece.column.div(elements), value));
        });
    return () -> stores.forEach(Runnable::run);
  }

  /** Every piece of the stage, shared out to the threads. */
  private void each(Int from, Consumer<Piece> move) {
    int pieces = stage.bytes() / matrix.access();
    if (pieces < threads) {
      k.when(k.thread().lt(pieces), () -> eachOfThread(from, pieces, move));
    } else {
      eachOfThread(from, pieces, move);
    }
  }

  /**
   * A thread moves pieces of rows that are a constant number apart. One address goes from row to
   * row, for one each would take too many registers; what lies beyond an end is not read. Only
   * {@code from} changes from stage to stage: all else is added before it, and so outside the loop.
   */
  private void eachOfThread(Int from, int pieces, Consumer<Piece> move) {
    int elements = matrix.access() / stage.element().bytes();
    int across = stage.columns() / elements;
    var leadingDimension = matrix.leadingDimension();
    var row = k.thread().div(across);
    var column = k.thread().rem(across).times(elements);
    var place = stage.place(row);
    var ofBlock =
        stage.kIsRow()
            ? matrix.first().row(row, leadingDimension).plus(first.plus(column).wide())
            : matrix.first().row(first.plus(row), leadingDimension).plus(column.wide());
    var source = stage.kIsRow() ? ofBlock.row(from, leadingDimension) : ofBlock.plus(from.wide());
    var leftOfK = matrix.depth().minus(from);
    var leftOfExtent = matrix.extent().minus(first);
    var rows = (stage.kIsRow() ? leftOfK : leftOfExtent).minus(row);
    var columns = (stage.kIsRow() ? leftOfExtent : leftOfK).minus(column);
    int at = 0;
    for (int piece = 0; piece < pieces; piece += threads) {
      int below = piece / across;
      int right = piece % across * elements;
      if (below > at) {
        source = source.plus(leadingDimension.wide().times(below - at));
        at = below;
      }
      move.accept(
          new Piece(
              // rows apart by a power of two differ in bits that the first has not
              place.plus(stage.place(k.integer(below))),
              column.plus(right),
              source,
              right,
              rows.gt(k.integer(below)).and(columns.gt(k.integer(right)))));
    }
  }
}
