package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Value;
import java.util.List;

/**
 * Scales of groups of elements along K, applied to sums of products instead of the elements. The
 * elements can then be small numbers, which every type represents exactly.
 */
public interface GroupScales {

  /**
   * The scales of a lane's sums, as in {@code Fragments.C_16X8}.
   *
   * @param rows two of each sixteen rows of its warp, or none
   * @param columns two neighbors of each eight columns of its warp, or none
   */
  record Loaded(List<Value> rows, List<Value> columns) {

    /** No scales. */
    static final Loaded NONE = new Loaded(List.of(), List.of());

    /** Returns scales of columns alone. */
    public static Loaded ofColumns(List<Value> columns) {
      return new Loaded(List.of(), columns);
    }
  }

  /**
   * Returns the extent along K that is summed before a scale is applied: a divisor of a stage's
   * depth.
   */
  int depth();

  /** Returns the extent along K that shares scales within a stage: a multiple of {@link #depth}. */
  default int extent() {
    return depth();
  }

  /**
   * Loads the scales of a group.
   *
   * @param row first row of the warp, within the tile
   * @param column first column of the warp, within the tile
   * @param depth first index along K of the group; may be beyond the end
   */
  Loaded load(Int row, Int column, Int depth);
}
