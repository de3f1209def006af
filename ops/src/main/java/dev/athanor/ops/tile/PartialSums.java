package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import java.util.function.Function;

/**
 * Sums of parts of a stage, which start from zero and are then added to the sums of a warp. They
 * serve to apply the scales of groups, or to limit how many numbers tensor cores add to a sum.
 * Without parts, products are added to the sums of the warp directly.
 */
final class PartialSums {
  private final KernelBuilder k;
  private final TileProduct product;
  private final WarpSums sums;
  private final int depth;
  private final int extent;
  private final Function<Int, GroupScales.Loaded> scales;
  private WarpSums part;
  private GroupScales.Loaded scalesOfPart = GroupScales.Loaded.NONE;

  /**
   * Creates partial sums without a current part.
   *
   * @param sums sums of the warp
   * @param depth depth of a part: a divisor of a stage's depth, or 0 without parts
   * @param extent extent along K that shares scales: a multiple of the depth
   * @param scales loads the scales from an index along K on, if there are any
   */
  PartialSums(
      KernelBuilder k,
      TileProduct product,
      WarpSums sums,
      int depth,
      int extent,
      Function<Int, GroupScales.Loaded> scales) {
    this.k = k;
    this.product = product;
    this.sums = sums;
    this.depth = depth;
    this.extent = extent;
    this.scales = scales;
    part = sums;
  }

  /**
   * Returns the sums to which a step adds its products.
   *
   * @param stage first index along K of the stage
   * @param step first index along K of the step, within the stage
   */
  WarpSums begin(Int stage, int step) {
    if (depth > 0 && step % depth == 0) {
      part = new WarpSums(k, product.tile(), product.mma());
      if (step % extent == 0) {
        scalesOfPart = scales.apply(stage.plus(step));
      }
    }
    return part;
  }

  /** Adds the part to the sums of the warp if it ends with the step that ends at {@code step}. */
  void end(int step) {
    if (depth > 0 && step % depth == 0) {
      sums.add(part, scalesOfPart);
    }
  }
}
