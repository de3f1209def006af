package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Copies stages of a matrix to shared memory without converting elements. The width of an access is
 * the alignment of the rows: 4, 8 or 16 bytes by asynchronous copies, fewer through registers.
 * Stages of {@code wmma} are copied through registers, since devices that need it have no
 * asynchronous copies: so the loads are in flight during the products of the previous stage.
 *
 * @param first first row or column of c that the block computes
 * @param threads threads of the block, a power of two
 */
record MatrixStaging(
    KernelBuilder k,
    SharedTile shared,
    Stage stage,
    TensorMatmul.Source matrix,
    Int first,
    int threads)
    implements Producer {

  /** Minimum bytes of an asynchronous copy. */
  static final int LEAST_COPY = 4;

  /**
   * The elements that a thread moves at once.
   *
   * @param row row in shared memory
   * @param column column in shared memory
   * @param source the source row
   * @param index first element in that row
   * @param inside whether the piece is inside the matrix; the length of rows is a multiple of
   *     {@code access}, so a piece is entirely inside or outside
   */
  private record Piece(Int row, Int column, GlobalPointer source, int index, Predicate inside) {}

  /** Returns the number of pieces that a thread moves to fill a stage. */
  static int pieces(Stage stage, int access, int threads) {
    return Math.ceilDiv(stage.elementBytes(), access * threads);
  }

  /** Returns whether asynchronous copies fill a stage. */
  static boolean isAsynchronous(Stage stage, int access) {
    return access >= LEAST_COPY && stage.reader() != Instruction.WMMA;
  }

  @Override
  public Runnable fill(Int offset, Int from) {
    return isAsynchronous(stage, matrix.access()) ? copy(offset, from) : load(offset, from);
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
    var unit =
        access == stage.element().bytes()
            ? stage.element()
            : access < Type.B32.bytes() ? Type.B16 : Type.B32;
    var to = stage.at(shared, offset, unit);
    int elements = unit.bytes() / stage.element().bytes();
    List<Runnable> stores = new ArrayList<>();
    each(
        from,
        piece -> {
          var values =
              piece
                  .source
                  .as(unit)
                  .loadWhere(
                      piece.inside, access / unit.bytes(), k.integer(piece.index / elements));
          stores.add(() -> to.store(piece.row, piece.column.div(elements), values));
        });
    return () -> stores.forEach(Runnable::run);
  }

  /** Distributes the pieces of a stage to the threads. */
  private void each(Int from, Consumer<Piece> move) {
    int pieces = stage.elementBytes() / matrix.access();
    if (pieces < threads) {
      k.when(k.thread().lt(pieces), () -> eachOfThread(from, pieces, move));
    } else {
      eachOfThread(from, pieces, move);
    }
  }

  /**
   * Moves the pieces of this thread, whose rows are a constant distance apart. One address advances
   * from row to row, since one address per row would take too many registers. Nothing is read
   * beyond the ends of the matrix. Only {@code from} changes from stage to stage; everything else
   * is added first, so that it is hoisted out of the loop.
   */
  private void eachOfThread(Int from, int pieces, Consumer<Piece> move) {
    int elements = matrix.access() / stage.element().bytes();
    int across = stage.columns() / elements;
    var leadingDimension = matrix.leadingDimension();
    var row = k.thread().div(across);
    var column = k.thread().rem(across).times(elements);
    var place = stage.place(row, column);
    var inPanel = stage.inPanel(column);
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
              // rows a power of two apart differ in bits that are 0 in the first row
              place.plus(stage.place(k.integer(below), k.integer(right))),
              inPanel.plus(stage.inPanel(k.integer(right))),
              source,
              right,
              rows.gt(k.integer(below)).and(columns.gt(k.integer(right)))));
    }
  }
}
