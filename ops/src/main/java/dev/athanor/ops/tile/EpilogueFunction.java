package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Value;

/**
 * The epilogue of a kernel: computes an element of c from its sum and from numbers that its row or
 * its column shares. {@link Epilogue} is the standard implementation.
 *
 * @param <L> the numbers of a row or of a column
 */
public interface EpilogueFunction<L> {

  /**
   * Loads the numbers of a row.
   *
   * @param row index of the row. It may be {@code m} or greater; nothing may be read then, and the
   *     result is ignored
   * @param m number of rows of c
   */
  L row(Int row, Int m);

  /**
   * Loads the numbers of a column.
   *
   * @param column index of the column. It may be {@code n} or greater; nothing may be read then,
   *     and the result is ignored
   * @param n number of columns of c
   */
  L column(Int column, Int n);

  /**
   * Returns the element of c.
   *
   * @param sum f32, or s32 for products of bytes
   * @return a value of the type of c
   */
  Value finish(Value sum, L row, L column);

  /**
   * Returns whether {@link #finish} takes many instructions, so that finishing many sums side by
   * side would spill registers. Transcendental functions do.
   */
  default boolean isLong() {
    return false;
  }
}
