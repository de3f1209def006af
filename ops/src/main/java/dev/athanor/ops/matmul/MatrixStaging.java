package dev.athanor.ops.matmul;

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
 * @param limit how many c has
 * @param depth how long K is
 * @param access bytes moved at once: a power of two from the size of an element to 16
 * @param threads of the block
 */
public record MatrixStaging(
    KernelBuilder k,
    SharedTile shared,
    Stage stage,
    GlobalPointer matrix,
    Int leadingDimension,
    Int first,
    Int limit,
    Int depth,
    int access,
    int threads)
    implements Staging {

  private static final int LEAST_COPY = 4;

  /** What one thread moves at once. */
  private record Piece(Int row, Int column, GlobalPointer source, Int index, Int left, Predicate in) {}

  /** The loads, and so registers, that filling a stage takes a thread; 0 where it copies. */
  static int registers(Stage stage, int access, int threads) {
    return access < LEAST_COPY ? Math.ceilDiv(stage.bytes(), access * threads) : 0;
  }

  @Override
  public Runnable fill(Int offset, Int depth) {
    return access < LEAST_COPY ? load(offset, depth) : copy(offset, depth);
  }

  private Runnable copy(Int offset, Int from) {
    var to = stage.at(shared, offset);
    each(piece -> {
      var here = piece(from, piece);
      var bytes = here.left.times(stage.element().bytes());
      var valid = bytes.max(k.integer(0)).min(k.integer(access)).where(here.in, k.integer(0));
      to.copyAsync(stage.place(here.row), here.column, access, here.source, here.index, valid);
    });
    return () -> {};
  }

  private Runnable load(Int offset, Int from) {
    var unit = access == stage.element().bytes() ? stage.element() : Type.B16;
    var to = stage.at(shared, offset, unit);
    int elements = access / stage.element().bytes();
    List<Runnable> stores = new ArrayList<>();
    each(piece -> {
      var here = piece(from, piece);
      var inside = here.in.and(here.left.gt(k.integer(0)));
      var value = here.source.as(unit).loadWhere(inside, here.index.div(elements));
      stores.add(() -> to.store(stage.place(here.row), here.column.div(elements), value));
    });
    return () -> stores.forEach(Runnable::run);
  }

  private Piece piece(Int from, Int index) {
    int elements = access / stage.element().bytes();
    int across = stage.columns() / elements;
    var row = index.div(across);
    var column = index.rem(across).times(elements);
    var inRow = (stage.kIsRow() ? from : first).plus(row);
    var inColumn = (stage.kIsRow() ? first : from).plus(column);
    var rows = stage.kIsRow() ? depth : limit;
    var columns = stage.kIsRow() ? limit : depth;
    // a row beyond the last is not read, yet its address should be one that could be
    var source = matrix.row(inRow.min(rows.plus(-1)), leadingDimension);
    return new Piece(row, column, source, inColumn, columns.minus(inColumn), inRow.lt(rows));
  }

  /** Every piece of the stage, shared out to the threads. */
  private void each(Consumer<Int> move) {
    int pieces = stage.bytes() / access;
    if (pieces < threads) {
      k.when(k.thread().lt(pieces), () -> move.accept(k.thread()));
      return;
    }
    for (int piece = 0; piece < pieces; piece += threads) {
      move.accept(k.thread().plus(piece));
    }
  }
}
