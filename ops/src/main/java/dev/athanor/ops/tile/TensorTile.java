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
 */
public record TensorTile(int m, int n, int k, int warpM, int warpN, int stages) {

  private static final int WARP = 32;

  public int warps() {
    return (m / warpM) * (n / warpN);
  }

  public int threads() {
    return WARP * warps();
  }

  @Override
  public String toString() {
    // part of kernel names, so independent of the locale
    return m + "x" + n + "x" + k + "x" + stages;
  }
}
