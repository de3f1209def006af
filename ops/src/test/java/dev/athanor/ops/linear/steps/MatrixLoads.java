package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import java.util.List;

/**
 * Step 7, ldmatrix: one instruction reads four 8x8 matrices and hands each lane what {@code mma}
 * wants of them, and with {@code .trans} it turns those of b on the way. Each lane names a row of
 * 16 bytes.
 *
 * <p>The stages are swizzled: row r of a tile has its chunks of 16 bytes in another order than row
 * r + 1, so that the eight rows of a matrix lie in different banks. The bank conflicts of the step
 * before are gone, without a byte of padding.
 */
record MatrixLoads() implements LadderStep {

  @Override
  public String name() {
    return "ldmatrix";
  }

  @Override
  public String summary() {
    return "ldmatrix from swizzled tiles, so that operands come in one piece, without conflicts.";
  }

  @Override
  public int threads() {
    return TensorCores.THREADS;
  }

  @Override
  public int sharedBytes() {
    return 2 * Stages.BYTES;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var stages = new Stages(k, matrices, threads(), k.dynamicShared(), true);
    TensorCores.doubleBuffered(
        k, matrices, stages, MatrixLoads::fragmentOfA, MatrixLoads::fragmentOfB);
  }

  /** Lanes 0 to 15 name the rows at the first eight columns, the others at the next eight. */
  static List<Value> fragmentOfA(KernelBuilder k, Stages stages, Int stage, Int row, int depth) {
    var right = k.lane().div(16).times(8);
    return stages.a(stage).loadMatrices(row.plus(k.lane().rem(16)), right.plus(depth), false);
  }

  /**
   * Two matrices are a fragment of 16x8. The instruction reads four: those that lanes 16 to 31 name
   * are the same again, and nobody looks at them.
   */
  static List<Value> fragmentOfB(KernelBuilder k, Stages stages, Int stage, Int column, int depth) {
    return stages.b(stage).loadMatrices(k.lane().rem(16).plus(depth), column, true).subList(0, 2);
  }
}
