package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Type;

/**
 * Step 1, the definition: a thread for each element of c, which walks along a row of a and down a
 * column of b.
 *
 * <p>The lanes of a warp have neighbouring columns, so that a load of b is 64 bytes in a row and
 * one of a the same element for all. Yet every element of a is loaded N times and every one of b M
 * times: for each multiply-add two loads from global memory. The profiler shows it as sectors: for
 * 128x128 matrices some fifty times those that the matrices fill.
 */
record Naive() implements LadderStep {

  private static final int ROWS = 8;

  @Override
  public String name() {
    return "naive";
  }

  @Override
  public String summary() {
    return "A thread for each element of c, two loads for each multiply-add.";
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
