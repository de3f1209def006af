package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;

/**
 * Step 1, the definition: one thread per element of c, which traverses a row of a and a column of
 * b.
 *
 * <p>The lanes of a warp have neighboring columns, so that a load of b reads 64 contiguous bytes,
 * and a load of a reads the same element for all lanes. Still, every element of a is loaded N times
 * and every element of b M times: two loads from global memory per multiply-add. The profiler shows
 * this as sectors: for 128x128 matrices, about fifty times as many as the matrices occupy.
 */
record Naive() implements LadderStep {

  private static final int ROWS = 8;

  @Override
  public String name() {
    return "naive";
  }

  @Override
  public String summary() {
    return "One thread per element of c, with two loads per multiply-add.";
  }

  @Override
  public int threads() {
    return ROWS * KernelBuilder.WARP;
  }

  @Override
  public int tileM() {
    return ROWS;
  }

  @Override
  public int tileN() {
    return KernelBuilder.WARP;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var row = matrices.row.plus(k.warp());
    var column = matrices.column.plus(k.lane());
    var sum = k.variable(k.real(Type.F32, 0));
    k.loop(
        k.integer(0),
        matrices.depth,
        1,
        i -> {
          var a = matrices.a.row(row, matrices.depth).load(i);
          var b = matrices.b.row(i, matrices.n).load(column);
          sum.addProduct(a.widen(), b.widen());
        });
    matrices.c.row(row, matrices.n).store(column, sum);
  }
}
