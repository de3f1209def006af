package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Predicate;
import dev.athanor.engine.author.TilePartition;

/** An operand in global memory, as the threads of a block read it to fill a stage. */
@FunctionalInterface
public interface StagedOperand {

  /**
   * Returns what a thread reads for a stage. Called once for each stage, in ascending order.
   *
   * @param row first row of the thread within the stage
   * @param column first column of the thread within the stage
   * @param from first index along K of the stage
   */
  Runs of(Int row, Int column, Int from);

  /** The runs of adjacent elements that a thread reads for a stage. */
  interface Runs {

    /**
     * Returns a run. Called in ascending order of the rows.
     *
     * @param below rows below the first row of the thread
     * @param right columns after the first column of the thread
     */
    Run at(int below, int right);
  }

  /**
   * Adjacent elements.
   *
   * @param row the row, from the thread's first column on
   * @param index first element in the row
   * @param inside whether the run is inside the operand; it is entirely inside or outside
   */
  record Run(GlobalPointer row, int index, Predicate inside) {}

  /**
   * Partitions a stage into the runs that threads read.
   *
   * @param access bytes of a run
   */
  static TilePartition partition(Stage stage, int access, int threads) {
    int elements = access / stage.element().bytes();
    return new TilePartition(threads, stage.rows(), stage.columns(), elements);
  }
}
