package dev.athanor.ops.matmul;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;

/**
 * Writes the kernels of a matrix product. All take the same parameters: {@code a, b, bias, c, m, n,
 * k, lda, ldb, strideA, strideB, strideC, alpha}, strides in elements, and run one block for each
 * tile of each product, in a grid of one dimension.
 */
final class MatmulKernels {

  private MatmulKernels() {}

  static Kernel build(MatmulVariant variant) {
    return KernelBuilder.build(
        variant.name(),
        variant.tile().threads(),
        k -> {
          var problem = new Parameters(k, variant);
          new CoresMatmul(k, variant, problem).write();
        });
  }

  /**
   * What a block knows before it begins: the problem, and which tile of which product is its own.
   */
  static final class Parameters {
    final KernelBuilder k;
    final MatmulVariant variant;
    final GlobalPointer a;
    final GlobalPointer b;
    final GlobalPointer bias;
    final GlobalPointer c;
    final Int m;
    final Int n;
    final Int depth;
    final Int lda;
    final Int ldb;
    final Real alpha;

    /** The row and the column of c where the tile begins. */
    final Int row;

    final Int column;

    Parameters(KernelBuilder k, MatmulVariant variant) {
      this.k = k;
      this.variant = variant;
      var tile = variant.tile();
      var in = MatmulVariant.type(variant.dtype());
      var firstA = k.pointer("a", in);
      var firstB = k.pointer("b", in);
      bias = k.pointer("bias", in);
      var firstC = k.pointer("c", MatmulVariant.type(variant.outDType()));
      m = k.integer("m");
      n = k.integer("n");
      depth = k.integer("k");
      lda = k.integer("lda");
      ldb = k.integer("ldb");
      var strideA = k.wide("strideA");
      var strideB = k.wide("strideB");
      var strideC = k.wide("strideC");
      alpha = k.real("alpha", Type.F32);

      var tileRows = m.plus(tile.m() - 1).div(tile.m());
      var tileColumns = n.plus(tile.n() - 1).div(tile.n());
      var tiles = tileRows.times(tileColumns);
      var product = k.block().div(tiles);
      var within = k.block().minus(product.times(tiles));
      var tileRow = within.div(tileColumns);
      row = tileRow.times(tile.m());
      column = within.minus(tileRow.times(tileColumns)).times(tile.n());
      a = firstA.matrix(product, strideA);
      b = firstB.matrix(product, strideB);
      c = firstC.matrix(product, strideC);
    }

    /** The bias of a column, zero beyond the last. */
    Real bias(Int column) {
      return variant.bias() ? bias.loadWhere(column.lt(n), column).widen() : k.real(Type.F32, 0);
    }

    /** {@code activation(alpha · sum + bias)}. */
    Real finish(Real sum, Real bias) {
      var scaled = variant.bias() ? sum.fma(alpha, bias) : sum.times(alpha);
      return variant.activation().apply(scaled);
    }
  }
}
