package dev.athanor.engine.analysis;

/**
 * How much of a multiprocessor a kernel can fill.
 *
 * @param blocks that are resident at once
 * @param warps that are resident at once
 * @param share of the warps that could be
 * @param limit what keeps more away
 */
public record Occupancy(int blocks, int warps, double share, Limit limit) {

  /** What can keep blocks away. */
  public enum Limit {
    REGISTERS,
    SHARED_MEMORY,
    WARPS,
    BLOCKS
  }
}
