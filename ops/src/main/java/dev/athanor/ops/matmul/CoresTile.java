package dev.athanor.ops.matmul;

/**
 * How a block computes a part of c with one multiply-add a lane, stage by stage along K. A warp is
 * 4 threads high and 8 wide.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param threadM rows of c that a thread computes
 * @param threadN columns of c that a thread computes
 */
record CoresTile(int m, int n, int k, int threadM, int threadN) {

  /** The threads of a warp, down and across. */
  static final int WARP_HEIGHT = 4;

  static final int WARP_WIDTH = 8;

  int threads() {
    return m / threadM * (n / threadN);
  }

  @Override
  public String toString() {
    return m + "x" + n + "x" + k;
  }
}
