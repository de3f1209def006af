package dev.athanor.ops.tile;

/**
 * The tile of c that a block computes on tensor cores, stage by stage along K, and its division
 * among warps.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param warpM rows of c that a warp computes, a multiple of 16
 * @param warpN columns of c that a warp computes, a multiple of 16
 * @param stages number of stages in shared memory
 * @param ofGroups whether warpgroups multiply, with {@code wgmma}
 */
public record TensorTile(int m, int n, int k, int warpM, int warpN, int stages, boolean ofGroups) {

  private static final int WARP = 32;

  /** Returns a tile whose warps multiply with {@code mma.sync}. */
  public TensorTile(int m, int n, int k, int warpM, int warpN, int stages) {
    this(m, n, k, warpM, warpN, stages, false);
  }

  /**
   * Returns a tile of which each warpgroup multiplies 64 rows.
   *
   * @param m a multiple of 64
   */
  static TensorTile ofGroups(int m, int n, int k, int stages) {
    return new TensorTile(m, n, k, Stage.GROUP, n, stages, true);
  }

  public int warps() {
    return (m / warpM) * (n / warpN);
  }

  public int threads() {
    return WARP * warps();
  }

  @Override
  public String toString() {
    // part of kernel names, so independent of the locale
    return m + "x" + n + "x" + k + "x" + stages + (ofGroups ? "_groups" : "");
  }
}
