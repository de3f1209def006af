package dev.athanor.ops.matmul;

/**
 * How a block of threads computes a part of c, stage by stage along K.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param threadM of {@link Unit#CORES} the rows of a thread, of {@link Unit#TENSOR} those of a warp
 * @param threadN the columns of it
 * @param stages how many stages shared memory holds
 */
record Tile(Unit unit, int m, int n, int k, int threadM, int threadN, int stages) {

  /** What multiplies. */
  enum Unit {
    /** One multiply-add a lane. */
    CORES,
    /** {@code mma.sync.m16n8k16}. */
    TENSOR
  }

  int threads() {
    int parts = (m / threadM) * (n / threadN);
    return unit == Unit.CORES ? parts : 32 * parts;
  }

  @Override
  public String toString() {
    // part of kernel names, so written alike in every locale
    return m + "x" + n + "x" + k + (stages > 1 ? "x" + stages : "");
  }
}
