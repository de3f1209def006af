package dev.athanor.ops.matmul;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Step.Slot;
import java.util.List;

/**
 * The parameters of a kernel that computes products tile by tile, one block for each tile of each
 * product in a grid of one dimension: {@code a, b, bias, c, m, n, k, lda, ldb, strideA, strideB,
 * strideC, alpha}, strides in elements.
 */
final class ProductParameters {
  final GlobalPointer a;
  final GlobalPointer b;
  final GlobalPointer c;
  final Int m;
  final Int n;
  final Int depth;
  final Int lda;
  final Int ldb;

  /** The row and the column of c where the block's tile begins. */
  final Int row;

  final Int column;

  private final KernelBuilder k;
  private final Product product;
  private final GlobalPointer bias;
  private final Real alpha;

  ProductParameters(KernelBuilder k, Product product, int tileM, int tileN) {
    this.k = k;
    this.product = product;
    var firstA = k.pointer("a", product.type());
    var firstB = k.pointer("b", product.type());
    bias = k.pointer("bias", product.type());
    var firstC = k.pointer("c", product.outType());
    m = k.integer("m");
    n = k.integer("n");
    depth = k.integer("k");
    lda = k.integer("lda");
    ldb = k.integer("ldb");
    var strideA = k.wide("strideA");
    var strideB = k.wide("strideB");
    var strideC = k.wide("strideC");
    alpha = k.real("alpha", product.sumType());

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

  /** The arguments, in the order of the parameters, of the products from {@code start} on. */
  static List<Slot> slots(MatmulProblem problem, Batch.Start start) {
    long matrixA = (long) problem.m() * problem.k();
    long matrixB = (long) problem.k() * problem.n();
    long matrixC = (long) problem.m() * problem.n();
    int bytes = problem.dtype().bytes();
    var inner = problem.batch().inner();
    var c = new Slot.Output("c", start.c() * matrixC * problem.outDType().bytes());
    return List.of(
        new Slot.Input("a", start.a() * matrixA * bytes),
        new Slot.Input("b", start.b() * matrixB * bytes),
        // a kernel without bias never reads the pointer
        problem.bias() ? Slot.input("bias") : c,
        c,
        Slot.of(problem.m()),
        Slot.of(problem.n()),
        Slot.of(problem.k()),
        Slot.of(problem.leadingDimensionA()),
        Slot.of(problem.leadingDimensionB()),
        Slot.of(inner.strideA() * matrixA),
        Slot.of(inner.strideB() * matrixB),
        Slot.of(matrixC),
        alpha(Product.of(problem), problem.alpha()));
  }

  /** Alpha as the kernels of a product take it. */
  static Slot alpha(Product product, double alpha) {
    return product.sumType() == Type.F64 ? Slot.of(alpha) : Slot.of((float) alpha);
  }

  /** The blocks that tiles of such a size take. */
  static long blocks(MatmulProblem problem, int tileM, int tileN) {
    return Math.ceilDiv(problem.m(), tileM)
        * (long) Math.ceilDiv(problem.n(), tileN)
        * problem.batch().inner().count();
  }

  /** The bias of a column, zero beyond the last. */
  Real bias(Int ofColumn) {
    return product.bias()
        ? bias.loadWhere(ofColumn.lt(n), ofColumn).widen()
        : k.real(product.sumType(), 0);
  }

  /** What becomes of the sum of an element. */
  Real finish(Real sum, Real biasOfColumn) {
    return product.finish(sum, alpha, biasOfColumn);
  }
}
