package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.Value;
import java.util.List;

/**
 * Scales of groups of b along K, applied to sums of products instead of the elements of b. The
 * elements can then be small integers, which every type represents exactly.
 */
public interface GroupScales {

  /**
   * Returns the extent along K that is summed before a scale is applied: a divisor of a stage's
   * depth.
   */
  int depth();

  /**
   * Loads the scales of the columns of a lane's sums: two neighbors of each eight columns of its
   * warp, as in {@code Fragments.C_16X8}.
   *
   * @param column first column of the warp, within the tile
   * @param depth first index along K of the group; may be beyond the end
   */
  List<Value> load(Int column, Int depth);
}
