package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.BatchParameters;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.SumStore;
import dev.athanor.ops.tile.TensorMatmul;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * A product of matrices on tensor cores. The kernel's parameters are {@code a, b, c, m, n, k, lda,
 * ldb}, those of {@link BatchParameters} and those of the epilogue; a block computes a tile of a
 * product, in a grid of one dimension. Without an epilogue it is the first of two steps: the blocks
 * along the second dimension of the grid share K, {@code depth} each, and c is where their sums go,
 * for {@link SplitVariant}.
 *
 * @param accessC bytes of c that may be written at once
 */
record TensorVariant(
    TensorTile tile,
    Operand a,
    Operand b,
    Factors factors,
    Optional<Epilogue> epilogue,
    int accessC)
    implements Variant {

  /** A is stored by rows of K unless it is transposed. */
  Stage stageA() {
    return new Stage(a.type(), a.transposed(), tile.m(), tile.k());
  }

  Stage stageB() {
    return new Stage(b.type(), !b.transposed(), tile.n(), tile.k());
  }

  Mma mma() {
    return Operand.mma(a, b, factors);
  }

  SumStore.Order order() {
    return SumStore.Order.of(stageA(), stageB());
  }

  /** The dynamic shared memory of a block. */
  int sharedBytes() {
    int ring = TensorMatmul.ringBytes(tile, stageA(), stageB());
    return epilogue
        .map(e ->
            Math.max(ring, tile.warps() * SumStore.bytes(tile.warpN(), Epilogue.type(e.out()))))
        .orElse(ring);
  }

  /** For instance {@code matmul_f16_64x64x32x3_nt_a16_b16_f16_bias_relu_c16}. */
  @Override
  public String name() {
    var dtypes =
        a.dtype() == b.dtype() ? a.dtype().text() : a.dtype().text() + "_" + b.dtype().text();
    return "matmul_%s%s_%s_%s%s_a%d_b%d%s"
        .formatted(
            dtypes,
            factors.text(),
            tile,
            a.transposed() ? 't' : 'n',
            b.transposed() ? 't' : 'n',
            a.access(),
            b.access(),
            epilogue.map(e -> e.name() + "_c" + accessC).orElse("_split"));
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), tile.threads(), this::write);
  }

  private void write(KernelBuilder k) {
    var mma = mma();
    var firstA = k.input("a", a.type());
    var firstB = k.input("b", b.type());
    var firstC = k.pointer("c", epilogue.map(e -> Epilogue.type(e.out())).orElse(mma.sum()));
    var m = k.integer("m");
    var n = k.integer("n");
    var depth = k.integer("k");
    var lda = k.integer("lda");
    var ldb = k.integer("ldb");
    var batch = new BatchParameters(k);

    var place = TileScheduler.of(tile).tile(k, k.block(), m, n);
    var matrices = batch.of(new BatchParameters.Matrices(firstA, firstB, firstC), place.matrix());
    var shared = k.dynamicShared();
    var product = new TensorMatmul(k, shared, tile, mma, stageA(), stageB(), factors);
    var rows = product.copyA(matrices.a(), lda, place.row(), m, depth, a.access());
    var columns = product.copyB(matrices.b(), ldb, place.column(), n, depth, b.access());
    if (epilogue.isEmpty()) {
      var share = KRange.ofBlock(k, k.integer("depth"), depth);
      SplitVariant.keep(k, firstC, tile, product.multiply(rows, columns, share));
      return;
    }
    var applied = epilogue.get().declare(k);
    var sums = product.multiply(rows, columns, KRange.all(k, depth));
    k.barrier();
    var target = new SumStore.Target(matrices.c(), m, n);
    var output = product.output(Epilogue.type(epilogue.get().out()), accessC);
    product.store(output, sums, place, target, applied);
  }
}
