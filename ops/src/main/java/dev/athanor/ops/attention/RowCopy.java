package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
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

  /** The elements of a tile that a thread copies. */
  private record Places(Int row, Int column, int rowsAtOnce, int segment, int segments) {}

  private Places places(SharedTile tile, int elementBytes) {
    int elements = access / elementBytes;
    int segment = Math.min(tile.columns(), SEGMENT_BYTES / elementBytes);
    segment = Math.min(segment, threads * elements);
    int across = segment / elements;
    return new Places(
        k.thread().div(across),
        k.thread().rem(across).times(elements),
        threads / across,
        segment,
        tile.columns() / segment);
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
    var places = places(tile, type.bytes());
    var row = first.plus(places.row);
    if (access < MIN_ASYNC_BYTES) {
      // element-wise copies are numerous: a loop needs fewer registers than unrolled code
      each(
          tile,
          places,
          step -> {
            var there = row.plus(step).lt(rows);
            var from = source.at(row.plus(step));
            for (int s = 0; s < places.segments; s++) {
              var column = places.column.plus(s * places.segment);
              var value = from.loadWhere(there.and(column.lt(columns)), column);
              tile.store(places.row.plus(step), column, value);
            }
          });
      return;
    }
    if (Math.ceilDiv(tile.rows(), places.rowsAtOnce) * places.segments > MAX_UNROLLED) {
      each(
          tile,
          places,
          step -> {
            var from = source.at(row.plus(step)).plus(places.column.wide());
            var there = row.plus(step).lt(rows);
            copy(tile, places, places.row.plus(step), from, columns, there);
          });
      return;
    }
    var left = rows.minus(row);
    var pointer = source.at(row).plus(places.column.wide());
    for (int step = 0; step < tile.rows(); step += places.rowsAtOnce) {
      if (step > 0) {
        pointer = source.advance(pointer, row.plus(step), places.column, places.rowsAtOnce);
      }
      var from = pointer;
      int at = step;
      within(
          tile,
          places,
          at,
          () -> copy(tile, places, places.row.plus(at), from, columns, left.gt(k.integer(at))));
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
      SharedTile tile, Places places, Int row, GlobalPointer from, Int columns, Predicate there) {
    for (int s = 0; s < places.segments; s++) {
      int further = s * places.segment;
      var column = places.column.plus(further);
      var index = k.integer(further);
      if (places.segments <= MAX_PREDICATED) {
        // the length of a row is a multiple of the copy size
        var inside = there.and(column.lt(columns));
        tile.copyAsyncWhere(inside, row, column, access, from, index);
      } else {
        var bytes =
            columns
                .minus(places.column)
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
    var places = places(tile, first.element().bytes());
    int elements = access / first.element().bytes();
    each(
        tile,
        places,
        step -> {
          var row = places.row.plus(step);
          var inside = row.lt(rows);
          var target = first.row(row, ld);
          for (int s = 0; s < places.segments; s++) {
            var column = places.column.plus(s * places.segment);
            var there = inside.and(column.lt(columns));
            // elements beyond the last column are uninitialized
            var values = tile.loadWhere(there, elements, row, column);
            target.storeWhere(there, column, values);
          }
        });
  }

  /** Emits {@code body} in a device loop over the first rows of the rounds. */
  private void each(SharedTile tile, Places places, Consumer<Int> body) {
    if (places.rowsAtOnce >= tile.rows()) {
      within(tile, places, 0, () -> body.accept(k.integer(0)));
    } else {
      k.loop(k.integer(0), k.integer(tile.rows()), places.rowsAtOnce, body);
    }
  }

  /** Emits {@code body} for the threads that have a row in a round. */
  private void within(SharedTile tile, Places places, int step, Runnable body) {
    if (step + places.rowsAtOnce <= tile.rows()) {
      body.run();
    } else {
      Predicate own = places.row.lt(tile.rows() - step);
      k.when(own, body);
    }
  }
}
