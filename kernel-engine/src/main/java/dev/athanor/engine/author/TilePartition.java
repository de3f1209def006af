package dev.athanor.engine.author;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The partition of a tile into pieces of adjacent elements of a row, which threads copy or compute.
 * Adjacent threads have adjacent pieces of a segment of a row, then of the next row. A thread's
 * pieces are constant offsets apart.
 *
 * @param threads number of threads, which a segment's number of pieces divides, or which divides it
 * @param rows of the tile
 * @param columns of the tile
 * @param elements of a piece
 * @param segment columns of a segment, a divisor of the tile's columns
 */
public record TilePartition(int threads, int rows, int columns, int elements, int segment) {

  /** The offset of a piece from the thread's first one. */
  public record Offset(int row, int column) {}

  /** Returns a partition with whole rows as segments. */
  public TilePartition(int threads, int rows, int columns, int elements) {
    this(threads, rows, columns, elements, columns);
  }

  /** Returns the number of pieces of a segment. */
  private int across() {
    return segment / elements;
  }

  /** Returns the number of segments of a row. */
  public int segments() {
    return columns / segment;
  }

  /** Returns the number of rows between a thread's pieces of a segment, at least 1. */
  public int rowsAtOnce() {
    return Math.max(1, threads / across());
  }

  /**
   * Returns the row of a thread's first piece.
   *
   * @param thread index of the thread, less than {@link #threads}
   */
  public Int row(Int thread) {
    return across() > threads ? Int.of(thread.emitter, 0) : thread.div(across());
  }

  /** Returns the column of a thread's first piece. */
  public Int column(Int thread) {
    return piece(thread).times(elements);
  }

  private Int piece(Int thread) {
    return across() > threads ? thread : thread.rem(across());
  }

  /** Returns the offsets of the first thread's pieces, row by row. */
  public List<Offset> offsets() {
    var offsets = new ArrayList<Offset>();
    for (int piece = 0; piece < rows * across(); piece += threads) {
      for (int first = 0; first < columns; first += segment) {
        offsets.add(new Offset(piece / across(), piece % across() * elements + first));
      }
    }
    return List.copyOf(offsets);
  }

  /**
   * Emits {@code body} for each piece of a thread, unrolled.
   *
   * @param body takes the row and the column of a piece
   */
  public void each(KernelBuilder k, Int thread, BiConsumer<Int, Int> body) {
    var row = row(thread);
    var piece = piece(thread);
    var offsets = offsets().iterator();
    each(
        k,
        thread,
        threads,
        rows * across(),
        _ -> {
          for (int segment = 0; segment < segments(); segment++) {
            var offset = offsets.next();
            body.accept(row.plus(offset.row), piece.times(elements).plus(offset.column));
          }
        });
  }

  /**
   * Emits {@code body} for each of a thread's indices less than {@code count}, unrolled.
   *
   * @param thread index of the thread
   */
  public static void each(KernelBuilder k, Int thread, int threads, int count, Consumer<Int> body) {
    for (int first = 0; first < count; first += threads) {
      var index = thread.plus(first);
      if (first + threads <= count) {
        body.accept(index);
      } else {
        k.when(index.lt(count), () -> body.accept(index));
      }
    }
  }
}
