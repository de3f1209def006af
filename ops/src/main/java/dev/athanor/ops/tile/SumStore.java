package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;

/**
 * Finishes the sums of a warp and writes them to c, 16 rows at a time. A lane has pieces of two
 * rows of each 8 columns; on their way through shared memory they become whole rows, which are
 * written with as many bytes at once as the rows of c are aligned to.
 *
 * @param shared of which the warp takes {@link #bytes} from {@code offset} on
 * @param columns that the warp has, a multiple of 16
 * @param out the type of c
 * @param interleaving how rows and columns of the sums are numbered
 */
record SumStore(
    KernelBuilder k,
    SharedTile shared,
    Int offset,
    int columns,
    Type out,
    Interleaving interleaving) {

  private static final int ROWS = 16;

  /** More pieces are written in a loop: unrolled, the addresses of all of them would spill. */
  private static final int MOST_UNROLLED = 8;

  /** Returns the store of a warp, in the shared memory that is its own. */
  static SumStore ofWarp(
      KernelBuilder k, SharedTile shared, int columns, Type out, Interleaving interleaving) {
    var offset = k.warp().times(bytes(columns, out));
    return new SumStore(k, shared, offset, columns, out, interleaving);
  }

  /** Returns the shared memory of a warp in bytes. */
  static int bytes(int columns, Type out) {
    return ROWS * columns * out.bytes();
  }

  /**
   * Writes 16 rows; the warp must be whole.
   *
   * @param sums of each 8 columns, four registers as {@code Fragments.C_16X8} says
   * @param row the first of them in c
   * @param column the first of the columns in c
   */
  <L> void store(
      List<MatrixFragment> sums,
      Int row,
      Int column,
      TensorMatmul.Destination to,
      EpilogueFunction<L> epilogue) {
    var lane = k.lane();
    int neighbours = interleaving.columns() ? 4 : 2;
    // the lanes that share a row write 4 times so many neighbours at once
    var swizzle = Swizzle.of(columns * out.bytes(), 4 * neighbours * out.bytes());
    var tile = shared.at(offset, out, ROWS, columns, swizzle);
    var rows = new ArrayList<L>();
    for (int half = 0; half < 2; half++) {
      rows.add(epilogue.row(row.plus(place(lane.div(4).plus(8 * half))), to.m()));
    }
    for (int first = 0; first < columns; first += 4 * neighbours) {
      int part = first;
      var own = lane.rem(4).times(neighbours).plus(first);
      Runnable finish =
          () -> {
            var lines = new ArrayList<L>();
            for (int i = 0; i < neighbours; i++) {
              lines.add(epilogue.column(column.plus(own).plus(i), to.n()));
            }
            for (int half = 0; half < 2; half++) {
              var values = new ArrayList<Value>();
              for (int i = 0; i < neighbours; i++) {
                var sum =
                    interleaving.columns()
                        ? sums.get(part / 8 + i % 2).get(2 * half + i / 2)
                        : sums.get(part / 8).get(2 * half + i);
                values.add(epilogue.finish(sum, rows.get(half), lines.get(i)));
              }
              tile.store(lane.div(4).plus(8 * half), own, values);
            }
          };
      if (epilogue.isLong()) {
        // A branch, or the compiler finishes all columns side by side, and registers spill.
        var zeros = Collections.nCopies(neighbours, k.real(Type.F32, 0).to(out));
        k.when(
            column.plus(first).lt(to.n()),
            finish,
            () -> {
              tile.store(lane.div(4), own, zeros);
              tile.store(lane.div(4).plus(8), own, zeros);
            });
      } else {
        finish.run();
      }
    }
    k.warpBarrier();
    write(swizzle, row, column, to);
    k.warpBarrier();
  }

  private void write(Swizzle swizzle, Int row, Int column, TensorMatmul.Destination to) {
    int access = to.access();
    var unit = access < 4 ? out : Type.B32;
    int scale = unit.bytes() / out.bytes();
    var words = shared.at(offset, unit, ROWS, columns / scale, swizzle);
    int elements = access / out.bytes();
    int across = columns / elements;
    Consumer<Int> move =
        index -> {
          var from = index.div(across);
          var within = index.rem(across).times(elements);
          var values = words.load(access / unit.bytes(), from, within.div(scale));
          var inRow = row.plus(place(from));
          var inColumn = column.plus(within);
          to.c()
              .row(inRow, to.n())
              .as(unit)
              .storeWhere(inRow.lt(to.m()).and(inColumn.lt(to.n())), inColumn.div(scale), values);
        };
    int pieces = Math.ceilDiv(ROWS * across, KernelBuilder.WARP);
    if (pieces > MOST_UNROLLED) {
      // ptxas would unroll a loop between constants
      k.loop(k.lane(), k.integer(ROWS * across), KernelBuilder.WARP, move);
    } else {
      for (int piece = 0; piece < pieces; piece++) {
        move.accept(k.lane().plus(piece * KernelBuilder.WARP));
      }
    }
  }

  /** The row of c, from the first of the 16 on, of a row of the sums. */
  private Int place(Int row) {
    return interleaving.rows() ? row.rem(8).times(2).plus(row.div(8)) : row;
  }
}
