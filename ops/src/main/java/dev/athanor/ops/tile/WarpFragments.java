package dev.athanor.ops.tile;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.MatrixFragment;
import java.util.List;

/**
 * The operands of a warp for one step of K.
 *
 * @param rows a fragment of a for each 16 rows
 * @param columns a fragment of b for each 8 columns
 */
record WarpFragments(List<MatrixFragment> rows, List<MatrixFragment> columns) {

  WarpFragments {
    rows = List.copyOf(rows);
    columns = List.copyOf(columns);
  }

  /** Returns variables with these values, which are carried from one iteration to the next. */
  WarpFragments variables(KernelBuilder k) {
    return new WarpFragments(
        rows.stream().map(k::variable).toList(), columns.stream().map(k::variable).toList());
  }

  void set(WarpFragments values) {
    set(rows, values.rows);
    set(columns, values.columns);
  }

  private static void set(List<MatrixFragment> variables, List<MatrixFragment> values) {
    for (int i = 0; i < values.size(); i++) {
      variables.get(i).set(values.get(i));
    }
  }
}
