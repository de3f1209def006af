package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.ptx.Type;
import java.util.ArrayList;
import java.util.List;

/**
 * Step 3, registers: a thread computes 4x4 elements of c. For the 16 multiply-adds of a step along
 * K, it reads 4 elements of a and 4 of b: half a load per multiply-add instead of two.
 *
 * <p>The tile of a block grows to 64x64 with the same 256 threads, which quarters the sectors of a
 * and b: the loads grow with the sides of the tile, the computation with its area. The rows and
 * columns of a thread are 16 apart, so that the lanes of each read access neighboring elements.
 */
record RegisterTiles() implements LadderStep {

  private static final int SIDE = 16;
  private static final int EACH = TILE / SIDE;

  @Override
  public String name() {
    return "register-tiles";
  }

  @Override
  public String summary() {
    return "4x4 sums per thread, so that each read from shared memory serves 4 multiply-adds.";
  }

  @Override
  public int threads() {
    return SIDE * SIDE;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var tileOfA = k.shared(Type.F16, TILE, SIDE, SIDE);
    var tileOfB = k.shared(Type.F16, SIDE, TILE, TILE);
    var y = k.thread().div(SIDE);
    var x = k.thread().rem(SIDE);
    var rowOfB = k.thread().div(TILE);
    var columnOfB = k.thread().rem(TILE);
    var sums = Matrices.sums(k, EACH * EACH);
    k.loop(
        k.integer(0),
        matrices.depth,
        SIDE,
        depth -> {
          for (int i = 0; i < EACH; i++) {
            var inA = y.plus(i * SIDE);
            var inB = rowOfB.plus(i * SIDE / EACH);
            var fromA = matrices.a.row(matrices.row.plus(inA), matrices.depth);
            var fromB = matrices.b.row(depth.plus(inB), matrices.n);
            tileOfA.store(inA, x, fromA.load(depth.plus(x)));
            tileOfB.store(inB, columnOfB, fromB.load(matrices.column.plus(columnOfB)));
          }
          k.barrier();
          for (int i = 0; i < SIDE; i++) {
            multiply(k, tileOfA, tileOfB, y, x, i, sums);
          }
          k.barrier();
        });
    for (int i = 0; i < sums.size(); i++) {
      var row = matrices.row.plus(y).plus(i / EACH * SIDE);
      var column = matrices.column.plus(x).plus(i % EACH * SIDE);
      matrices.c.row(row, matrices.n).store(column, sums.get(i));
    }
  }

  private static void multiply(
      KernelBuilder k,
      SharedTile tileOfA,
      SharedTile tileOfB,
      Int y,
      Int x,
      int depth,
      List<Real.Variable> sums) {
    var a = new ArrayList<Real>();
    var b = new ArrayList<Real>();
    for (int i = 0; i < EACH; i++) {
      a.add(tileOfA.load(y.plus(i * SIDE), k.integer(depth)).widen());
      b.add(tileOfB.load(k.integer(depth), x.plus(i * SIDE)).widen());
    }
    for (int i = 0; i < sums.size(); i++) {
      sums.get(i).addProduct(a.get(i / EACH), b.get(i % EACH));
    }
  }
}
