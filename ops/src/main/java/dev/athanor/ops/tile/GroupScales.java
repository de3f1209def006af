package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Value;
import java.util.List;

/**
 * Scales of groups of b along K that are applied to sums of products rather than to the elements of
 * b. The elements can then be small integers, which every type represents exactly.
 */
public interface GroupScales {

  /** Returns how much of K is summed before a scale is applied: a divisor of a stage's depth. */
  int depth();

  /**
   * Loads the scales of the columns that a lane has sums of: two neighbors of each eight columns of
   * its warp, as {@code Fragments.C_16X8} says.
   *
   * @param column the first of the warp, within the tile
   * @param depth the first of K in the group; it may be beyond the last
   */
  List<Value> load(Int column, Int depth);
}
