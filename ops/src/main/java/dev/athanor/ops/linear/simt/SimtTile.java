package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.KernelBuilder;

/**
 * The tiling of a block, which iterates over stages along K.
 *
 * @param m rows of c per block
 * @param n columns of c per block
 * @param k depth of a stage
 * @param partM rows per thread for {@link Unit#FMA}, per warp for {@link Unit#MMA}
 * @param partN columns per thread or warp
 */
record SimtTile(Unit unit, int m, int n, int k, int partM, int partN) {

  /** The execution unit of the products. */
  enum Unit {
    /** FMA instructions. */
    FMA,
    /** {@code mma.m8n8k4} of f64. */
    MMA
  }

  int threads() {
    int parts = m / partM * (n / partN);
    return unit == Unit.FMA ? parts : KernelBuilder.WARP * parts;
  }

  /** Returns {@code 64x64x16}, or {@code 64x64x16_mma} on tensor cores. */
  @Override
  public String toString() {
    return m + "x" + n + "x" + k + (unit == Unit.MMA ? "_mma" : "");
  }
}
