package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import java.util.List;

/**
 * Step 7, ldmatrix: one instruction loads four 8x8 matrices and gives each lane the elements that
 * {@code mma} needs; with {@code .trans} it transposes those of b. Each lane passes the address of
 * a row of 16 bytes.
 *
 * <p>The stages are swizzled: row r of a tile has its 16-byte chunks in another order than row r +
 * 1, so that the eight rows of a matrix are in different banks. This removes the bank conflicts of
 * the previous step without any padding.
 */
record MatrixLoads() implements LadderStep {

  @Override
  public String name() {
    return "ldmatrix";
  }

  @Override
  public String summary() {
    return "ldmatrix from swizzled tiles, which loads whole fragments without bank conflicts.";
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

  /**
   * Lanes 0 to 15 address the rows at the first eight columns, the others those at the next eight.
   */
  static List<Value> fragmentOfA(KernelBuilder k, Stages stages, Int stage, Int row, int depth) {
    var right = k.lane().div(16).times(8);
    return stages.a(stage).loadMatrices(row.plus(k.lane().rem(16)), right.plus(depth), false);
  }

  /**
   * A fragment of 16x8 is two matrices. The instruction loads four: lanes 16 to 31 address the same
   * two again, and their registers are not used.
   */
  static List<Value> fragmentOfB(KernelBuilder k, Stages stages, Int stage, Int column, int depth) {
    return stages.b(stage).loadMatrices(k.lane().rem(16).plus(depth), column, true).subList(0, 2);
  }
}
