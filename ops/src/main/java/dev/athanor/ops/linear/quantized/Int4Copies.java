package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Layout;

/**
 * The copies of a warp that bring a step of {@link Int4Gemv} to shared memory. What lies beyond the
 * ends of K and N becomes zeros.
 *
 * @param firstRow of the left matrix
 * @param firstColumn of the weights
 * @param limit where K, or the block's share of it, ends
 * @param alignK bytes of rows of k-packed weights are a multiple of half as many
 * @param alignN the number of columns is a multiple of it
 */
record Int4Copies(
    KernelBuilder k,
    SharedTile shared,
    Int4Slot slot,
    ProjectionParameters problem,
    Int firstRow,
    Int firstColumn,
    Int limit,
    int alignK,
    int alignN) {

  private static final int MOST = 16;

  /** The least that a copy can bring. */
  private static final int LEAST = 4;

  /** A piece of a row, in bytes. */
  @FunctionalInterface
  private interface Piece {
    void copy(Int row, Int byteOfRow);
  }

  /**
   * Starts the copies of a step and commits them as a group.
   *
   * @param to the byte of shared memory where the slot begins
   */
  void fill(Int to, Int step) {
    var first = step.times(Int4Slot.DEPTH);
    left(to, first);
    switch (slot.packing()) {
      case Packing.AlongK _ -> alongK(to, first);
      case Packing.AlongN(var format, _, _) -> alongN(to, first, format);
      case Packing.Block _ -> throw new IllegalArgumentException(slot.packing().text());
    }
    ofGroups(to, first);
    k.commitCopies();
  }

  private void left(Int to, Int first) {
    var source = problem.a.as(Type.U8).plus(first.wide().times(2));
    var target = slot.left(shared, to, Type.U8);
    var last = problem.m.plus(-1);
    each(
        slot.rows(),
        Int4Slot.DEPTH * 2,
        MOST,
        (row, inRow) -> {
          var inside = first.plus(inRow.div(2)).lt(limit);
          var from = source.row(firstRow.plus(row).min(last), problem.depth.times(2));
          target.copyAsyncWhere(inside, row, inRow, MOST, from, inRow);
        });
  }

  private void alongK(Int to, Int first) {
    var source = problem.weights.as(Type.U8);
    var target = slot.weights(shared, to, Type.U8);
    var last = problem.n.plus(-1);
    int bytes = Math.min(MOST, alignK / 2);
    each(
        slot.columns(),
        Int4Slot.DEPTH / 2,
        bytes,
        (column, inRow) -> {
          var inside = first.plus(inRow.times(2)).lt(limit);
          var from = source.row(firstColumn.plus(column).min(last), problem.depth.div(2));
          target.copyAsyncWhere(
              inside, column, inRow, bytes, from, inRow.plus(first.div(2)));
        });
  }

  private void alongN(Int to, Int first, ColumnWeights.Format format) {
    boolean awq = format == ColumnWeights.Format.AWQ;
    // bytes of eight columns, and rows of K, of a row of words
    int ofEight = awq ? 4 : 4 * Int4Layout.WORD;
    int depth = awq ? 1 : Int4Layout.WORD;
    var source =
        problem
            .weights
            .as(Type.U8)
            .plus(firstColumn.times(ofEight).div(Int4Layout.WORD).wide());
    var pitch = problem.n.times(ofEight).div(Int4Layout.WORD);
    var target = slot.weights(shared, to, Type.U8);
    var columns = problem.n.minus(firstColumn);
    int bytes = Math.min(MOST, alignN * ofEight / Int4Layout.WORD);
    each(
        Int4Slot.DEPTH / depth,
        slot.columns() * ofEight / Int4Layout.WORD,
        bytes,
        (row, inRow) -> {
          var inside =
              first.plus(row.times(depth)).lt(limit).and(columnOf(inRow, ofEight).lt(columns));
          var place = slot.target(row, inRow);
          target.copyAsyncWhere(
              inside,
              place.row(),
              place.column(),
              bytes,
              source.row(first.div(depth).plus(row), pitch),
              inRow);
        });
  }

  private static Int columnOf(Int inRow, int bytesOfEight) {
    return inRow.times(Int4Layout.WORD).div(bytesOfEight);
  }

  /** The scales and zero points of the groups of a step. */
  private void ofGroups(Int to, Int first) {
    var scales = problem.scales.as(Type.U8);
    group(slot.scales(shared, to, Type.U8), scales, first, 2 * Int4Layout.WORD);
    if (slot.zeros()) {
      group(slot.zeros(shared, to, Type.U8), problem.zeros.as(Type.U8), first, Int4Layout.WORD / 2);
    }
  }

  private void group(SharedTile target, GlobalPointer source, Int first, int ofEight) {
    int bytes = Math.min(MOST, alignN * ofEight / Int4Layout.WORD);
    var start = firstColumn.times(ofEight).div(Int4Layout.WORD);
    var pitch = problem.n.times(ofEight).div(Int4Layout.WORD);
    var columns = problem.n.minus(firstColumn);
    each(
        slot.groups(),
        slot.columns() * ofEight / Int4Layout.WORD,
        bytes,
        (group, inRow) -> {
          var depth = first.plus(group.times(slot.group()));
          var inside = depth.lt(limit).and(columnOf(inRow, ofEight).lt(columns));
          var from = source.plus(start.wide()).row(depth.shr(problem.groupShift), pitch);
          if (bytes < LEAST) {
            // rows of an odd number of scales are too little aligned for copies
            target
                .at(k.integer(0), Type.F16, slot.groups(), slot.columns(), slot.columns())
                .store(
                    group,
                    inRow.div(2),
                    from.as(Type.F16).loadWhere(inside, inRow.div(2)));
          } else {
            target.copyAsyncWhere(inside, group, inRow, bytes, from, inRow);
          }
        });
  }

  /** Distributes pieces of rows over the lanes; neighboring lanes have neighboring pieces. */
  private void each(int rows, int rowBytes, int bytes, Piece piece) {
    int perRow = rowBytes / bytes;
    int all = rows * perRow;
    for (int done = 0; done < all; done += KernelBuilder.WARP) {
      boolean several = perRow <= KernelBuilder.WARP;
      var row =
          several ? k.lane().div(perRow).plus(done / perRow) : k.integer(done / perRow);
      var chunk = several ? k.lane().rem(perRow) : k.lane().plus(done % perRow);
      Runnable copy = () -> piece.copy(row, chunk.times(bytes));
      if (done + KernelBuilder.WARP <= all) {
        copy.run();
      } else {
        k.when(k.lane().lt(all - done), copy);
      }
    }
  }
}
