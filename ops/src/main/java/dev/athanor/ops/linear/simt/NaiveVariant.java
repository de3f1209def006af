package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.linear.ProductParameters;

/**
 * A direct implementation of the product with one thread per element of c: a baseline for the other
 * kernels.
 */
record NaiveVariant(Product product) implements Variant {

  /** The rows of a tile; a warp computes adjacent elements of a row of c. */
  static final int TILE_M = 8;

  static final int TILE_N = KernelBuilder.WARP;
  static final int THREADS = TILE_M * TILE_N;

  @Override
  public String name() {
    return product.name("matmul", "naive_" + product.transposes());
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, this::write);
  }

  private void write(KernelBuilder k) {
    var problem = new ProductParameters(k, product, TILE_M, TILE_N);
    problem.compute(THREADS, () -> multiply(k, problem));
  }

  private void multiply(KernelBuilder k, ProductParameters problem) {
    var row = problem.tile.row().plus(k.warp());
    var column = problem.tile.column().plus(k.lane());
    k.when(
        row.lt(problem.m).and(column.lt(problem.n)),
        () -> {
          var sum = k.variable(k.real(product.sumType(), 0));
          k.loop(
              problem.range.from(),
              problem.range.to(),
              1,
              i -> {
                var a =
                    product.transposeA()
                        ? problem.a.row(i, problem.lda).load(row)
                        : problem.a.row(row, problem.lda).load(i);
                var b =
                    product.transposeB()
                        ? problem.b.row(column, problem.ldb).load(i)
                        : problem.b.row(i, problem.ldb).load(column);
                sum.addProduct(a.widen(), b.widen());
              });
          var epilogue = problem.epilogue;
          var result =
              epilogue.finish(
                  sum, epilogue.row(row, problem.m), epilogue.column(column, problem.n));
          problem.c.row(row, problem.n).store(column, result);
        });
  }
}
