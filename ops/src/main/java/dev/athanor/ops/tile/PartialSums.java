package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import java.util.List;
import java.util.function.Function;

/**
 * Sums of parts of a stage that start from zero and are then added to the sums of a warp: with the
 * scales of a group of b, or so that tensor cores add few numbers to a sum. Without parts, products
 * are added to the sums of the warp at once.
 */
final class PartialSums {
  private final KernelBuilder k;
  private final TileProduct product;
  private final WarpSums sums;
  private final int depth;
  private final Function<Int, List<Value>> scales;
  private WarpSums part;
  private List<Value> scalesOfPart = List.of();

  /**
   * Declares no part yet.
   *
   * @param sums of the warp
   * @param depth how much of K a part has: a divisor of a stage's depth, or 0 without parts
   * @param scales loads the scales of the part from a depth on, or none
   */
  PartialSums(
      KernelBuilder k,
      TileProduct product,
      WarpSums sums,
      int depth,
      Function<Int, List<Value>> scales) {
    this.k = k;
    this.product = product;
    this.sums = sums;
    this.depth = depth;
    this.scales = scales;
    part = sums;
  }

  /**
   * Returns the sums to which a step adds its products.
   *
   * @param stage the first of K in the stage
   * @param step the first of K in the step, within the stage
   */
  WarpSums begin(Int stage, int step) {
    if (depth > 0 && step % depth == 0) {
      part = new WarpSums(k, product.tile(), product.mma());
      scalesOfPart = scales.apply(stage.plus(step));
    }
    return part;
  }

  /** Adds the part to the sums of the warp if it ends where a step does, within the stage. */
  void end(int step) {
    if (depth > 0 && step % depth == 0) {
      sums.add(part, scalesOfPart);
    }
  }
}
