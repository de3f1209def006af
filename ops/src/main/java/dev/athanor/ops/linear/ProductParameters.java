package dev.athanor.ops.linear;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.List;

/**
 * The parameters of a kernel that computes products tile by tile, one block for each tile of each
 * product in a grid of one dimension: {@code a, b, c, m, n, k, lda, ldb, strideA, strideB,
 * strideC}, strides in elements, and those of the epilogue.
 */
public final class ProductParameters {
  public final GlobalPointer a;
  public final GlobalPointer b;
  public final GlobalPointer c;
  public final Int m;
  public final Int n;
  public final Int depth;
  public final Int lda;
  public final Int ldb;

  /** The row and the column of c where the block's tile begins. */
  public final Int row;

  public final Int column;

  /** What becomes of sums. */
  public final Epilogue.Applied epilogue;

  public ProductParameters(KernelBuilder k, Product product, int tileM, int tileN) {
    var firstA = k.input("a", product.type());
    var firstB = k.input("b", product.type());
    var firstC = k.pointer("c", product.outType());
    m = k.integer("m");
    n = k.integer("n");
    depth = k.integer("k");
    lda = k.integer("lda");
    ldb = k.integer("ldb");
    var strideA = k.wide("strideA");
    var strideB = k.wide("strideB");
    var strideC = k.wide("strideC");
    epilogue = product.epilogue().declare(k);

    var tileRows = m.plus(tileM - 1).div(tileM);
    var tileColumns = n.plus(tileN - 1).div(tileN);
    var tiles = tileRows.times(tileColumns);
    var number = k.block().div(tiles);
    var within = k.block().minus(number.times(tiles));
    var tileRow = within.div(tileColumns);
    row = tileRow.times(tileM);
    column = within.minus(tileRow.times(tileColumns)).times(tileN);
    a = firstA.matrix(number, strideA);
    b = firstB.matrix(number, strideB);
    c = firstC.matrix(number, strideC);
  }

  /**
   * The arguments up to the strides, of the products from {@code start} on.
   *
   * @param c where they go
   */
  public static List<Slot> slots(MatmulProblem problem, Batch.Start start, Slot c) {
    long matrixA = (long) problem.m() * problem.k();
    long matrixB = (long) problem.k() * problem.n();
    var inner = problem.batch().inner();
    return new ArrayList<>(
        List.of(
            new Slot.Input("a", start.a() * matrixA * problem.a().dtype().bytes()),
            new Slot.Input("b", start.b() * matrixB * problem.b().dtype().bytes()),
            c,
            Slot.of(problem.m()),
            Slot.of(problem.n()),
            Slot.of(problem.k()),
            Slot.of(problem.leadingDimensionA()),
            Slot.of(problem.leadingDimensionB()),
            Slot.of(inner.strideA() * matrixA),
            Slot.of(inner.strideB() * matrixB),
            Slot.of((long) problem.m() * problem.n())));
  }

  /** All arguments, in the order of the parameters, of the products from {@code start} on. */
  public static List<Slot> slots(MatmulProblem problem, Batch.Start start) {
    var slots = slots(problem, start, c(problem, start));
    slots.addAll(problem.epilogue().slots(problem.alpha()));
    return slots;
  }

  /** The products from {@code start} on. */
  public static Slot c(MatmulProblem problem, Batch.Start start) {
    long matrix = (long) problem.m() * problem.n();
    return new Slot.Output("c", start.c() * matrix * problem.outDType().bytes());
  }

  /** The blocks that tiles of such a size take. */
  public static long blocks(MatmulProblem problem, int tileM, int tileN) {
    return Math.ceilDiv(problem.m(), tileM)
        * (long) Math.ceilDiv(problem.n(), tileN)
        * problem.batch().inner().count();
  }
}
