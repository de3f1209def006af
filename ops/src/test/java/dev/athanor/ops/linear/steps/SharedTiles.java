package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;

/**
 * Step 2, shared memory: the 256 threads of a block together copy a tile of a and one of b, 16x16
 * each, to shared memory. Each thread then reads a row and a column of them.
 *
 * <p>Each loaded element serves 16 threads, so that global memory moves a tenth of the sectors. A
 * thread still needs two loads per multiply-add, but from shared memory. The price is two barriers
 * per stage: one so that no thread reads a tile before it is complete, the other so that no thread
 * overwrites a tile that others still read.
 */
record SharedTiles() implements LadderStep {

  private static final int SIDE = 16;

  @Override
  public String name() {
    return "shared-tiles";
  }

  @Override
  public String summary() {
    return "Tiles of a and b in shared memory, so that each load serves 16 threads.";
  }

  @Override
  public int threads() {
    return SIDE * SIDE;
  }

  @Override
  public int tileM() {
    return SIDE;
  }

  @Override
  public int tileN() {
    return SIDE;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var tileOfA = k.shared(Type.F16, SIDE, SIDE, SIDE);
    var tileOfB = k.shared(Type.F16, SIDE, SIDE, SIDE);
    var y = k.thread().div(SIDE);
    var x = k.thread().rem(SIDE);
    var row = matrices.row.plus(y);
    var column = matrices.column.plus(x);
    var sum = k.variable(k.real(Type.F32, 0));
    k.loop(
        k.integer(0),
        matrices.depth,
        SIDE,
        depth -> {
          tileOfA.store(y, x, matrices.a.row(row, matrices.depth).load(depth.plus(x)));
          tileOfB.store(y, x, matrices.b.row(depth.plus(y), matrices.n).load(column));
          k.barrier();
          for (int i = 0; i < SIDE; i++) {
            var a = tileOfA.load(y, k.integer(i));
            var b = tileOfB.load(k.integer(i), x);
            sum.addProduct(a.widen(), b.widen());
          }
          k.barrier();
        });
    matrices.c.row(row, matrices.n).store(column, sum);
  }
}
