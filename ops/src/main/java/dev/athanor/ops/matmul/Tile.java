package dev.athanor.ops.matmul;

/**
 * How a block of threads computes a part of c with {@code mma.sync.m16n8k16}, stage by stage along
 * K.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param threadM rows of c that a warp computes
 * @param threadN columns of c that a warp computes
 * @param stages how many stages shared memory holds
 */
record Tile(int m, int n, int k, int threadM, int threadN, int stages) {

  int threads() {
    return 32 * (m / threadM) * (n / threadN);
  }

  @Override
  public String toString() {
    // part of kernel names, so written alike in every locale
    return m + "x" + n + "x" + k + (stages > 1 ? "x" + stages : "");
  }
}
