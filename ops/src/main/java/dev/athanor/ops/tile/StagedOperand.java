package dev.athanor.ops.tile;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Predicate;
import java.util.List;
import java.util.stream.IntStream;

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
   * The division of a stage among the threads of a block. The first thread begins at the first run;
   * its other runs are a constant distance apart.
   *
   * @param elements elements of a run
   * @param across runs of a row
   * @param firsts the runs of the first thread
   */
  record Division(int elements, int across, List<Place> firsts) {

    /** A place in a stage, relative to the first run of a thread. */
    public record Place(int below, int right) {}

    public Division {
      firsts = List.copyOf(firsts);
    }

    /**
     * Divides a stage.
     *
     * @param access bytes of a run
     */
    public static Division of(Stage stage, int access, int threads) {
      int elements = access / stage.element().bytes();
      int across = stage.columns() / elements;
      int runs = stage.elementBytes() / access;
      return new Division(
          elements,
          across,
          IntStream.iterate(0, run -> run < runs, run -> run + threads)
              .mapToObj(run -> new Place(run / across, run % across * elements))
              .toList());
    }

    /** Returns the row of this thread's first run. */
    public Int row(KernelBuilder k) {
      return k.thread().div(across);
    }

    /** Returns the column of this thread's first run. */
    public Int column(KernelBuilder k) {
      return k.thread().rem(across).times(elements);
    }
  }
}
