package dev.athanor.ops.attention;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import java.util.function.Consumer;

/**
 * Moves rows between global memory and a tile in shared memory, all threads of a block together.
 * Neighbouring threads take neighbouring chunks of a row, at most 128 bytes of it at a time.
 *
 * @param threads of the block
 * @param access bytes that are moved at once: 2, 4, 8 or 16, as the alignment of the rows allows
 */
public record RowCopy(KernelBuilder k, int threads, int access) {

  private static final int SEGMENT_BYTES = 128;

  /** The fewest bytes of an asynchronous copy. */
  private static final int LEAST_ASYNC = 4;

  /**
   * The most copies that a thread makes one after the other; more are a loop, or registers spill.
   */
  private static final int MOST_UNROLLED = 64;

  /**
   * The most segments of a row that are copied by predicates. More take more predicates than a
   * thread has, and registers to keep them in, with which kernels of long rows spill.
   */
  private static final int MOST_PREDICATED = 2;

  /** The most bytes that every row begins at a multiple of, and that one copy can move. */
  public static int access(long rowBytes) {
    return (int) Math.min(16, Long.lowestOneBit(rowBytes));
  }

  /** Where rows are. */
  public interface Rows {

    /** The type of the elements. */
    Type element();

    /** Where a row begins. */
    GlobalPointer at(Int row);

    /** Where the row {@code by} further begins; {@code pointer} is into the row before those. */
    GlobalPointer further(GlobalPointer pointer, Int row, Int column, int by);

    /** Rows that are {@code ld} elements apart. */
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
        public GlobalPointer further(GlobalPointer pointer, Int row, Int column, int by) {
          return pointer.plus(ld.wide().times(by));
        }
      };
    }
  }

  /** The places that a thread moves in a tile. */
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
   * Starts the copies that fill a tile, or makes them at once where rows have no alignment. Beyond
   * the rows and columns that there are the tile becomes zero. All is there when the copies were
   * awaited and the block has met at a barrier.
   *
   * @param first the row that the tile begins with
   * @param rows how many there are
   * @param columns how many there are
   */
  public void fill(SharedTile tile, Rows source, Int first, Int rows, Int columns) {
    var type = source.element();
    var places = places(tile, type.bytes());
    var row = first.plus(places.row);
    if (access < LEAST_ASYNC) {
      // single elements are many: a loop takes fewer registers than all at once
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
    if (Math.ceilDiv(tile.rows(), places.rowsAtOnce) * places.segments > MOST_UNROLLED) {
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
        pointer = source.further(pointer, row.plus(step), places.column, places.rowsAtOnce);
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
   * @param from where the thread's first chunk of the row is
   * @param columns how many columns there are
   * @param there whether the row is
   */
  private void copy(
      SharedTile tile, Places places, Int row, GlobalPointer from, Int columns, Predicate there) {
    for (int s = 0; s < places.segments; s++) {
      int further = s * places.segment;
      var column = places.column.plus(further);
      var index = k.integer(further);
      if (places.segments <= MOST_PREDICATED) {
        // rows are as long as a multiple of what is copied at once
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
   * Writes the rows of a tile that the block has finished.
   *
   * @param first where the tile's row 0 goes
   * @param ld elements from one row to the next
   * @param rows how many rows are written
   * @param columns how many columns are written
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
            // nobody has written what is behind the last column
            var values = tile.loadWhere(there, elements, row, column);
            target.storeWhere(there, column, values);
          }
        });
  }

  /** Runs {@code body} for the first row of each round, on the device. */
  private void each(SharedTile tile, Places places, Consumer<Int> body) {
    if (places.rowsAtOnce >= tile.rows()) {
      within(tile, places, 0, () -> body.accept(k.integer(0)));
    } else {
      k.loop(k.integer(0), k.integer(tile.rows()), places.rowsAtOnce, body);
    }
  }

  /** Runs {@code body} in the threads that have a row in a round. */
  private void within(SharedTile tile, Places places, int step, Runnable body) {
    if (step + places.rowsAtOnce <= tile.rows()) {
      body.run();
    } else {
      Predicate own = places.row.lt(tile.rows() - step);
      k.when(own, body);
    }
  }
}
