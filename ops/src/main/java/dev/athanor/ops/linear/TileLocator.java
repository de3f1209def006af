package dev.athanor.ops.linear;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.tile.TileScheduler;

/** The kernel parameters that say which tile of which matrices a block computes. */
public sealed interface TileLocator permits BatchParameters, GroupParameters {

  /**
   * Declares the parameters.
   *
   * @param grouped whether the product has {@link Groups}
   */
  static TileLocator declare(KernelBuilder k, boolean grouped) {
    return grouped ? new GroupParameters(k) : new BatchParameters(k);
  }

  /**
   * Returns the tile of this block in a one-dimensional grid, and its matrices.
   *
   * @param first the matrices of the first product
   * @param shape of the tile
   * @param m rows of each matrix, or those of all groups
   */
  ProductTile locate(BatchParameters.Matrices first, TileScheduler shape, Int m, Int n);
}
