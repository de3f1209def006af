package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Copies stages of an operand to shared memory without converting elements. The width of an access
 * is the alignment of the rows: 4, 8 or 16 bytes by asynchronous copies, fewer through registers.
 * Stages of {@code wmma} are copied through registers, since devices that need it have no
 * asynchronous copies: so the loads are in flight during the products of the previous stage.
 *
 * @param access bytes per access
 * @param threads threads of the block, a power of two
 * @param operand the operand in global memory
 */
record MatrixStaging(
    KernelBuilder k, SharedTile shared, Stage stage, int access, int threads, StagedOperand operand)
    implements Producer {

  /** Minimum bytes of an asynchronous copy. */
  static final int LEAST_COPY = 4;

  /**
   * The elements that a thread moves at once.
   *
   * @param row row in shared memory
   * @param column column in shared memory
   */
  private record Piece(Int row, Int column, StagedOperand.Run source) {}

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
    return isAsynchronous(stage, access) ? copy(offset, from) : load(offset, from);
  }

  private Runnable copy(Int offset, Int from) {
    var to = stage.at(shared, offset);
    each(
        from,
        piece ->
            to.copyAsyncWhere(
                piece.source.inside(),
                piece.row,
                piece.column,
                access,
                piece.source.row(),
                k.integer(piece.source.index())));
    return () -> {};
  }

  private Runnable load(Int offset, Int from) {
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
          var source = piece.source;
          var values =
              source
                  .row()
                  .as(unit)
                  .loadWhere(
                      source.inside(), access / unit.bytes(), k.integer(source.index() / elements));
          stores.add(() -> to.store(piece.row, piece.column.div(elements), values));
        });
    return () -> stores.forEach(Runnable::run);
  }

  /** Distributes the pieces of a stage to the threads. */
  private void each(Int from, Consumer<Piece> move) {
    int pieces = stage.elementBytes() / access;
    if (pieces < threads) {
      k.when(k.thread().lt(pieces), () -> eachOfThread(from, move));
    } else {
      eachOfThread(from, move);
    }
  }

  /** Moves the pieces of this thread. */
  private void eachOfThread(Int from, Consumer<Piece> move) {
    var partition = StagedOperand.partition(stage, access, threads);
    var row = partition.row(k.thread());
    var column = partition.column(k.thread());
    var place = stage.place(row, column);
    var inPanel = stage.inPanel(column);
    var runs = operand.of(row, column, from);
    for (var offset : partition.offsets()) {
      int below = offset.row();
      int right = offset.column();
      move.accept(
          new Piece(
              // rows a power of two apart differ in bits that are 0 in the first row
              place.plus(stage.place(k.integer(below), k.integer(right))),
              inPanel.plus(stage.inPanel(k.integer(right))),
              runs.at(below, right)));
    }
  }
}
