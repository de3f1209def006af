package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.Value;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.List;

/** A thread's accumulators in the tile of its block, and their multiplication. */
abstract sealed class SimtPart permits LaneProducts, DoubleMma {
  final KernelBuilder k;
  final SimtVariant variant;
  final SimtTile tile;
  private final ProductParameters problem;

  SimtPart(KernelBuilder k, SimtVariant variant, ProductParameters problem) {
    this.k = k;
    this.variant = variant;
    this.tile = variant.tile();
    this.problem = problem;
  }

  static SimtPart of(KernelBuilder k, SimtVariant variant, ProductParameters problem) {
    return switch (variant.tile().unit()) {
      case FMA -> new LaneProducts(k, variant, problem);
      case MMA -> new DoubleMma(k, variant, problem);
    };
  }

  /**
   * Adds the product of a stage to the sums: the outer products of a's columns and b's rows. Both
   * tiles have K as the row index.
   */
  abstract void addOuterProducts(SharedTile a, SharedTile b);

  /** Writes the sums to c. */
  abstract void store();

  /** Returns the column-wise epilogue operands of consecutive columns of the tile. */
  final List<Epilogue.Line> columns(Int inColumn, int count) {
    var columns = new ArrayList<Epilogue.Line>();
    for (int i = 0; i < count; i++) {
      columns.add(problem.epilogue.column(problem.tile.column().plus(inColumn).plus(i), problem.n));
    }
    return columns;
  }

  /**
   * Writes adjacent elements of a row of c with the widest possible stores.
   *
   * @param inRow row in the tile
   * @param inColumn column of the first element in the tile
   * @param columns the result of {@link #columns} for these columns
   */
  final void store(
      Int inRow, Int inColumn, List<? extends Value> sums, List<Epilogue.Line> columns) {
    int count =
        Math.min(sums.size(), variant.accessC() / variant.product().epilogue().out().bytes());
    var row = problem.tile.row().plus(inRow);
    var line = problem.epilogue.row(row, problem.m);
    for (int i = 0; i < sums.size(); i += count) {
      var column = problem.tile.column().plus(inColumn).plus(i);
      var inside = row.lt(problem.m).and(column.lt(problem.n));
      var results = new ArrayList<Value>();
      for (int j = i; j < i + count; j++) {
        results.add(problem.epilogue.finish(sums.get(j), line, columns.get(j)));
      }
      problem.c.row(row, problem.n).storeWhere(inside, column, results);
    }
  }
}
