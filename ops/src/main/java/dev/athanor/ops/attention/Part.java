package dev.athanor.ops.attention;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Real;
import java.util.List;

/**
 * What a thread holds of a matrix that a block computes: some of its rows, and of each the same
 * columns.
 *
 * @param row the first row
 * @param rows how much further the others are, and it itself
 * @param column the first column
 * @param columns how much further the others are, and it itself
 * @param sums by row and column
 */
public record Part(
    Int row,
    List<Integer> rows,
    Int column,
    List<Integer> columns,
    List<List<Real.Variable>> sums) {

  public Part {
    rows = List.copyOf(rows);
    columns = List.copyOf(columns);
    sums = List.copyOf(sums);
  }

  public Int row(int index) {
    return row.plus(rows.get(index));
  }
}
