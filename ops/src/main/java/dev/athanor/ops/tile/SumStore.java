package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.LaneCoordinates;
import dev.athanor.engine.author.MatrixFragment;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Axis;
import dev.athanor.engine.layout.Fragments;
import dev.athanor.engine.layout.LinearLayout;
import dev.athanor.engine.layout.Swizzle;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Consumer;

/**
 * Finishes the sums of a warp and stores them to c, 16 rows at a time. A lane holds pieces of two
 * rows for each 8 columns. Shared memory reorders them to whole rows, which are stored in accesses
 * as wide as the alignment of the rows of c.
 *
 * @param shared shared memory; the warp uses {@link #bytes} of it starting at {@code offset}
 * @param columns number of columns of the warp, a multiple of 16
 * @param out type of c
 * @param interleaving interleaving of the rows and columns of the sums
 */
record SumStore(
    KernelBuilder k,
    SharedTile shared,
    Int offset,
    int columns,
    Type out,
    Interleaving interleaving) {

  private static final int ROWS = 16;

  /** Maximum number of unrolled stores: more addresses would spill. */
  private static final int MOST_UNROLLED = 8;

  /** Returns the store of a warp in its part of the shared memory. */
  static SumStore ofWarp(
      KernelBuilder k, SharedTile shared, int columns, Type out, Interleaving interleaving) {
    var offset = k.warp().times(bytes(columns, out));
    return new SumStore(k, shared, offset, columns, out, interleaving);
  }

  /** Returns the bytes of shared memory per warp. */
  static int bytes(int columns, Type out) {
    return ROWS * columns * out.bytes();
  }

  /**
   * Stores 16 rows. All lanes of the warp must call it.
   *
   * @param sums four registers for each 8 columns, as in {@code Fragments.C_16X8}
   * @param row first row in c
   * @param column first column in c
   */
  <L> void store(
      List<MatrixFragment> sums,
      Int row,
      Int column,
      TensorMatmul.Destination to,
      EpilogueFunction<L> epilogue) {
    // two interleaved fragments are distributed as one of bytes
    var fragment = interleaving.columns() ? Fragments.a(ROWS, 16, 8) : Fragments.C_16X8;
    int neighbors = fragment.layout().contiguous(Axis.ELEMENT, Axis.COLUMN);
    var at = new LaneCoordinates(fragment.layout(), k.lane());
    // the four lanes of a row write all its columns at once
    var swizzle = Swizzle.of(columns * out.bytes(), fragment.columns() * out.bytes());
    var tile = shared.at(offset, out, ROWS, columns, swizzle);
    var rows = new ArrayList<L>();
    for (int half = 0; half < 2; half++) {
      rows.add(epilogue.row(row.plus(place(at.row().plus(8 * half))), to.m()));
    }
    for (int first = 0; first < columns; first += fragment.columns()) {
      int part = first;
      var own = at.column().plus(first);
      Runnable finish =
          () -> {
            var lines = new ArrayList<L>();
            for (int i = 0; i < neighbors; i++) {
              lines.add(epilogue.column(column.plus(own).plus(i), to.n()));
            }
            for (int half = 0; half < 2; half++) {
              var values = new ArrayList<Value>();
              for (int i = 0; i < neighbors; i++) {
                var sum =
                    interleaving.columns()
                        ? sums.get(part / 8 + i % 2).get(2 * half + i / 2)
                        : sums.get(part / 8).get(2 * half + i);
                values.add(epilogue.finish(sum, rows.get(half), lines.get(i)));
              }
              tile.store(at.row().plus(8 * half), own, values);
            }
          };
      if (epilogue.isLong()) {
        // without a branch, the compiler finishes all columns side by side, and registers spill
        var zeros = Collections.nCopies(neighbors, k.real(Type.F32, 0).to(out));
        k.when(
            column.plus(first).lt(to.n()),
            finish,
            () -> {
              tile.store(at.row(), own, zeros);
              tile.store(at.row().plus(8), own, zeros);
            });
      } else {
        finish.run();
      }
    }
    k.warpBarrier();
    write(swizzle, row, column, to);
    k.warpBarrier();
  }

  private void write(LinearLayout swizzle, Int row, Int column, TensorMatmul.Destination to) {
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
              .row(inRow, to.leadingDimension())
              .as(unit)
              .storeWhere(inRow.lt(to.m()).and(inColumn.lt(to.n())), inColumn.div(scale), values);
        };
    int pieces = Math.ceilDiv(ROWS * across, KernelBuilder.WARP);
    if (pieces > MOST_UNROLLED) {
      // start at the lane: ptxas would unroll a loop with constant bounds
      k.loop(k.lane(), k.integer(ROWS * across), KernelBuilder.WARP, move);
    } else {
      for (int piece = 0; piece < pieces; piece++) {
        move.accept(k.lane().plus(piece * KernelBuilder.WARP));
      }
    }
  }

  /** Returns the row of c, relative to the first of the 16, of a row of the sums. */
  private Int place(Int row) {
    return interleaving.rows() ? row.rem(8).times(2).plus(row.div(8)) : row;
  }
}
