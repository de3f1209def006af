package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * The part of K that a block sums.
 *
 * @param from the first of K
 * @param to behind the last of K
 */
public record KRange(Int from, Int to) {

  /** Returns all of K. */
  public static KRange all(KernelBuilder k, Int depth) {
    return new KRange(k.integer(0), depth);
  }

  /** Returns the part of a block where blocks along the second dimension of the grid share K. */
  public static KRange ofBlock(KernelBuilder k, Int share, Int depth) {
    var from = k.blockY().times(share);
    return new KRange(from, from.plus(share).min(depth));
  }
}
