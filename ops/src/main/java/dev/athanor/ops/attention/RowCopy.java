package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TilePartition;
import dev.athanor.engine.ptx.Type;
import java.util.function.Consumer;

/**
 * Copies rows between global memory and a tile in shared memory with all threads of a block.
 * Consecutive threads copy consecutive chunks of a row, at most 128 bytes at a time.
 *
 * @param threads of the block
 * @param access bytes per copy: 2, 4, 8 or 16, limited by the alignment of the rows
 */
public record RowCopy(KernelBuilder k, int threads, int access) {

  private static final int SEGMENT_BYTES = 128;

  /** The minimum bytes of an asynchronous copy. */
  private static final int MIN_ASYNC_BYTES = 4;

  /**
   * The maximum number of unrolled copies of a thread; with more, a loop avoids register spills.
   */
  private static final int MAX_UNROLLED = 64;

  /**
   * The maximum number of segments of a row that are copied with predicates. More segments exceed
   * the predicate registers of a thread and cause spills.
   */
  private static final int MAX_PREDICATED = 2;

  /** Returns the widest copy in bytes to which all rows are aligned. */
  public static int access(long rowBytes) {
    return (int) Math.min(16, Long.lowestOneBit(rowBytes));
  }

  /** A source of rows. */
  public interface Rows {

    /** Returns the type of the elements. */
    Type element();

    /** Returns the start of a row. */
    GlobalPointer at(Int row);

    /**
     * Returns a pointer to {@code column} of {@code row}, {@code by} rows after the row of {@code
     * pointer}.
     */
    GlobalPointer advance(GlobalPointer pointer, Int row, Int column, int by);

    /** Returns rows that are {@code ld} elements apart. */
    static Rows of(GlobalPointer first, Int ld) {
      return new Rows() {
        @Override
        public Type element() {
          return first.element();
        }

        @Override
        public GlobalPointer at(Int row) {
          return first.row(row, ld);
        }

        @Override
        public GlobalPointer advance(GlobalPointer pointer, Int row, Int column, int by) {
          return pointer.plus(ld.wide().times(by));
        }
      };
    }
  }

  private TilePartition partition(SharedTile tile, int elementBytes) {
    int elements = access / elementBytes;
    int segment = Math.min(tile.columns(), SEGMENT_BYTES / elementBytes);
    segment = Math.min(segment, threads * elements);
    return new TilePartition(threads, tile.rows(), tile.columns(), elements, segment);
  }

  /**
   * Starts asynchronous copies that fill a tile, or copies synchronously if the rows are not
   * aligned. Elements outside the given rows and columns become zero. The tile is complete after
   * waiting for the copies and a block barrier.
   *
   * @param first first row of the tile
   * @param rows number of rows of the source
   * @param columns number of columns of the source
   */
  public void fill(SharedTile tile, Rows source, Int first, Int rows, Int columns) {
    var type = source.element();
    var part = partition(tile, type.bytes());
    var inTile = part.row(k.thread());
    var firstColumn = part.column(k.thread());
    var row = first.plus(inTile);
    if (access < MIN_ASYNC_BYTES) {
      // element-wise copies are numerous: a loop needs fewer registers than unrolled code
      each(
          part,
          step -> {
            var there = row.plus(step).lt(rows);
            var from = source.at(row.plus(step));
            for (int s = 0; s < part.segments(); s++) {
              var column = firstColumn.plus(s * part.segment());
              var value = from.loadWhere(there.and(column.lt(columns)), column);
              tile.store(inTile.plus(step), column, value);
            }
          });
      return;
    }
    if (Math.ceilDiv(tile.rows(), part.rowsAtOnce()) * part.segments() > MAX_UNROLLED) {
      each(
          part,
          step -> {
            var from = source.at(row.plus(step)).plus(firstColumn.wide());
            var there = row.plus(step).lt(rows);
            copy(tile, part, inTile.plus(step), from, columns, there);
          });
      return;
    }
    var left = rows.minus(row);
    var pointer = source.at(row).plus(firstColumn.wide());
    for (int step = 0; step < tile.rows(); step += part.rowsAtOnce()) {
      if (step > 0) {
        pointer = source.advance(pointer, row.plus(step), firstColumn, part.rowsAtOnce());
      }
      var from = pointer;
      int at = step;
      within(
          part, at, () -> copy(tile, part, inTile.plus(at), from, columns, left.gt(k.integer(at))));
    }
  }

  /**
   * Starts the copies of a thread to one row of a tile.
   *
   * @param from the thread's first chunk of the row
   * @param columns number of columns of the source
   * @param there whether the row exists
   */
  private void copy(
      SharedTile tile,
      TilePartition part,
      Int row,
      GlobalPointer from,
      Int columns,
      Predicate there) {
    var firstColumn = part.column(k.thread());
    for (int s = 0; s < part.segments(); s++) {
      int further = s * part.segment();
      var column = firstColumn.plus(further);
      var index = k.integer(further);
      if (part.segments() <= MAX_PREDICATED) {
        // the length of a row is a multiple of the copy size
        var inside = there.and(column.lt(columns));
        tile.copyAsyncWhere(inside, row, column, access, from, index);
      } else {
        var bytes =
            columns
                .minus(firstColumn)
                .plus(-further)
                .times(from.element().bytes())
                .max(k.integer(0))
                .min(k.integer(access));
        tile.copyAsync(row, column, access, from, index, bytes.where(there, k.integer(0)));
      }
    }
  }

  /**
   * Writes the rows of a completed tile to global memory.
   *
   * @param first destination of the tile's row 0
   * @param ld leading dimension of the destination, in elements
   * @param rows number of rows to write
   * @param columns number of columns to write
   */
  void drain(SharedTile tile, GlobalPointer first, Int ld, Int rows, Int columns) {
    var part = partition(tile, first.element().bytes());
    var inTile = part.row(k.thread());
    var firstColumn = part.column(k.thread());
    int elements = access / first.element().bytes();
    each(
        part,
        step -> {
          var row = inTile.plus(step);
          var inside = row.lt(rows);
          var target = first.row(row, ld);
          for (int s = 0; s < part.segments(); s++) {
            var column = firstColumn.plus(s * part.segment());
            var there = inside.and(column.lt(columns));
            // elements beyond the last column are uninitialized
            var values = tile.loadWhere(there, elements, row, column);
            target.storeWhere(there, column, values);
          }
        });
  }

  /** Emits {@code body} in a device loop over the first rows of the rounds. */
  private void each(TilePartition part, Consumer<Int> body) {
    if (part.rowsAtOnce() >= part.rows()) {
      within(part, 0, () -> body.accept(k.integer(0)));
    } else {
      k.loop(k.integer(0), k.integer(part.rows()), part.rowsAtOnce(), body);
    }
  }

  /** Emits {@code body} for the threads that have a row in a round. */
  private void within(TilePartition part, int step, Runnable body) {
    if (step + part.rowsAtOnce() <= part.rows()) {
      body.run();
    } else {
      k.when(part.row(k.thread()).lt(part.rows() - step), body);
    }
  }
}
