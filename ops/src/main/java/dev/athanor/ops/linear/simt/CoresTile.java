package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.KernelBuilder;

/**
 * How a block computes a part of c, stage by stage along K.
 *
 * @param m rows of c that a block computes
 * @param n columns of c that a block computes
 * @param k depth of a stage
 * @param partM of {@link Unit#LANES} the rows of a thread, of {@link Unit#MMA} those of a warp
 * @param partN the columns of it
 */
record CoresTile(Unit unit, int m, int n, int k, int partM, int partN) {

  /** What multiplies. */
  enum Unit {
    /** One multiply-add a lane. */
    LANES,
    /** {@code mma.m8n8k4} of f64. */
    MMA
  }

  int threads() {
    int parts = m / partM * (n / partN);
    return unit == Unit.LANES ? parts : KernelBuilder.WARP * parts;
  }

  /** {@code 64x64x16}, and {@code 64x64x16_mma} on tensor cores. */
  @Override
  public String toString() {
    return m + "x" + n + "x" + k + (unit == Unit.MMA ? "_mma" : "");
  }
}
