package dev.athanor.ops.tile;

/**
 * How a block of warps computes a part of c on tensor cores, stage by stage along K.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param warpM rows of c that a warp computes, a multiple of 16
 * @param warpN columns of c that a warp computes, a multiple of 16
 * @param stages how many stages shared memory holds
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
    // part of kernel names, so written alike in every locale
    return m + "x" + n + "x" + k + "x" + stages;
  }
}
