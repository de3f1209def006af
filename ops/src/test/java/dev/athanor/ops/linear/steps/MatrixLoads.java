package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.layout.Fragments;
import java.util.List;

/**
 * Step 7, ldmatrix: one instruction loads up to four 8x8 matrices and gives each lane the elements
 * that {@code mma} needs; with {@code .trans} it transposes those of b. Each lane passes the
 * address of a row of 16 bytes.
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

  /** Four matrices: lanes 8 to 15, for example, address the rows of the second. */
  static List<Value> fragmentOfA(KernelBuilder k, Stages stages, Int stage, Int row, int depth) {
    var layout = Fragments.A_16X16.layout();
    return stages.a(stage).loadFragment(layout, k.lane(), row, k.integer(depth));
  }

  /** Two matrices: the instruction ignores the addresses of lanes 16 to 31. */
  static List<Value> fragmentOfB(KernelBuilder k, Stages stages, Int stage, Int column, int depth) {
    var layout = Fragments.B_16X8.layout();
    return stages.b(stage).loadFragment(layout, k.lane(), k.integer(depth), column);
  }
}
