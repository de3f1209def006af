package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * The range of K that a block sums.
 *
 * @param from first index
 * @param to end, exclusive
 */
public record KRange(Int from, Int to) {

  /** Returns all of K. */
  public static KRange all(KernelBuilder k, Int depth) {
    return new KRange(k.integer(0), depth);
  }

  /**
   * Returns a share of K.
   *
   * @param index of the share
   * @param share depth of a share; the last one may be less deep
   */
  public static KRange ofShare(Int index, Int share, Int depth) {
    var from = index.times(share);
    return new KRange(from, from.plus(share).min(depth));
  }

  /** Returns the range of a block if blocks along the second grid dimension share K. */
  public static KRange ofBlock(KernelBuilder k, Int share, Int depth) {
    return ofShare(k.blockY(), share, depth);
  }
}
