package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Layout;
import dev.athanor.ops.tile.Producer;
import java.util.function.BiConsumer;

/**
 * The asynchronous copies with which a warp loads a step of {@link Int4Gemv} into shared memory.
 * Elements beyond the ends of K and N become zeros.
 *
 * @param firstRow of the left matrix
 * @param firstColumn of the weights
 * @param limit end of K or of the block's share of it
 * @param alignK alignment of K for k-packed weights, whose rows are aligned to half as many bytes
 * @param alignN the number of columns is a multiple of this
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
    int alignN)
    implements Producer {

  private static final int MAX_BYTES = 16;

  /** The minimum bytes of a copy. */
  private static final int MIN_BYTES = 4;

  /**
   * Starts the copies of a step and commits them as a group.
   *
   * @param to offset of the slot in shared memory, in bytes
   */
  @Override
  public Runnable fill(Int to, Int step) {
    left(to, step);
    switch (slot.packing()) {
      case Packing.AlongK _ -> alongK(to, step);
      case Packing.AlongN(var format, _, _, _) -> alongN(to, step, format);
      case Packing.Block _, Packing.Fp4 _ ->
          throw new IllegalArgumentException(slot.packing().text());
    }
    ofGroups(to, step);
    k.commitCopies();
    return () -> {};
  }

  /** Returns whether an element of a step is before the limit. */
  private Predicate inside(Int step, Int depth) {
    return step.times(Int4Slot.DEPTH).lt(limit.minus(depth));
  }

  private void left(Int to, Int step) {
    var target = slot.left(shared, to, Type.U8);
    var last = problem.m.plus(-1);
    int ofStep = Int4Slot.DEPTH * 2;
    each(
        slot.rows(),
        ofStep,
        MAX_BYTES,
        (row, inRow) -> {
          var from =
              problem
                  .a
                  .as(Type.U8)
                  .row(firstRow.plus(row).min(last), problem.depth.times(2))
                  .plus(inRow.wide());
          copy(
              inside(step, inRow.div(2)),
              target,
              row,
              slot.leftColumn(inRow),
              MAX_BYTES,
              from,
              step,
              k.integer(ofStep));
        });
  }

  private void alongK(Int to, Int step) {
    var target = slot.weights(shared, to, Type.U8);
    var last = problem.n.plus(-1);
    int ofStep = Int4Slot.DEPTH / 2;
    int bytes = Math.min(MAX_BYTES, alignK / 2);
    each(
        slot.columns(),
        ofStep,
        bytes,
        (column, inRow) -> {
          var from =
              problem
                  .weights
                  .as(Type.U8)
                  .row(firstColumn.plus(column).min(last), problem.depth.div(2))
                  .plus(inRow.wide());
          var inside = inside(step, inRow.times(2));
          copy(inside, target, column, inRow, bytes, from, step, k.integer(ofStep));
        });
  }

  private void alongN(Int to, Int step, ColumnWeights.Format format) {
    boolean awq = format == ColumnWeights.Format.AWQ;
    // bytes of eight columns, and rows of K, of a row of words
    int ofEight = awq ? 4 : 4 * Int4Layout.WORD;
    int depth = awq ? 1 : Int4Layout.WORD;
    var pitch = bytes(problem.n, ofEight);
    var target = slot.weights(shared, to, Type.U8);
    int bytes = Math.min(MAX_BYTES, bytes(alignN, ofEight));
    int rows = Int4Slot.DEPTH / depth;
    each(
        rows,
        bytes(slot.columns(), ofEight),
        bytes,
        (row, inRow) -> {
          var from = columns(problem.weights, inRow, ofEight).row(row, pitch);
          var inside = inside(step, row.times(depth)).and(isColumn(inRow, ofEight));
          var place = slot.target(row, inRow);
          copy(inside, target, place.row(), place.column(), bytes, from, step, pitch.times(rows));
        });
  }

  /** Copies the scales and zero points of the groups of a step. */
  private void ofGroups(Int to, Int step) {
    int ofEight = slot.packing().scale().bytes() * Int4Layout.WORD;
    ofGroups(slot.scales(shared, to, Type.U8), problem.scales(), step, ofEight);
    if (slot.zeros()) {
      ofGroups(slot.zeros(shared, to, Type.U8), problem.zeros(), step, Int4Layout.WORD / 2);
    }
  }

  private void ofGroups(SharedTile target, GlobalPointer source, Int step, int ofEight) {
    int bytes = Math.min(MAX_BYTES, bytes(alignN, ofEight));
    each(
        slot.groups(),
        bytes(slot.columns(), ofEight),
        bytes,
        (group, inRow) -> {
          var depth = group.times(slot.group());
          var inside = inside(step, depth).and(isColumn(inRow, ofEight));
          var number = step.times(Int4Slot.DEPTH).plus(depth).shr(problem.groupShift);
          var from = columns(source, inRow, ofEight);
          var pitch = bytes(problem.n, ofEight);
          if (bytes < MIN_BYTES) {
            // rows with an odd number of scales are not aligned enough for asynchronous copies
            var type = slot.packing().scale();
            var scale = from.row(number, pitch).as(type).loadWhere(inside, k.integer(0));
            target
                .at(k.integer(0), type, slot.groups(), slot.columns(), slot.columns())
                .store(group, inRow.div(2), scale);
          } else {
            copy(inside, target, group, inRow, bytes, from, number, pitch);
          }
        });
  }

  /** Returns the bytes of a number of columns in a row. */
  private static int bytes(int columns, int ofEight) {
    return columns * ofEight / Int4Layout.WORD;
  }

  private static Int bytes(Int columns, int ofEight) {
    return columns.times(ofEight).div(Int4Layout.WORD);
  }

  /** Returns the address of a byte of the block's columns in the first row. */
  private GlobalPointer columns(GlobalPointer matrix, Int inRow, int ofEight) {
    return matrix.as(Type.U8).plus(bytes(firstColumn, ofEight).wide()).plus(inRow.wide());
  }

  private Predicate isColumn(Int inRow, int ofEight) {
    return inRow.times(Int4Layout.WORD).div(ofEight).lt(problem.n.minus(firstColumn));
  }

  /**
   * Copies a piece. The step-invariant part of the address is in {@code from}, so that the address
   * takes one instruction.
   */
  private void copy(
      Predicate inside,
      SharedTile target,
      Int row,
      Int column,
      int bytes,
      GlobalPointer from,
      Int index,
      Int pitch) {
    target.copyAsyncWhere(inside, row, column, bytes, from.row(index, pitch), k.integer(0));
  }

  /** Partitions rows into pieces, in bytes, over the lanes. */
  private void each(int rows, int rowBytes, int bytes, BiConsumer<Int, Int> piece) {
    new TilePartition(KernelBuilder.WARP, rows, rowBytes, bytes).each(k, k.lane(), piece);
  }
}
