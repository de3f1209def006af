package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.BatchParameters;
import dev.athanor.ops.linear.Groups;
import dev.athanor.ops.linear.TileLocator;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TensorMatmul;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TileProduct;
import dev.athanor.ops.tile.TileScheduler;
import java.util.Optional;

/**
 * A product of matrices on tensor cores. The kernel's parameters are {@code a, b, c, m, n, k, lda,
 * ldb}, those of {@link BatchParameters} and those of the epilogue. Each block of the
 * one-dimensional grid computes a tile of a product. Without an epilogue, this is the first of two
 * split-K steps: each block along the second dimension of the grid computes {@code depth} of K and
 * writes partial sums to c for {@link SplitVariant}.
 *
 * @param accessC bytes per store to c
 * @param grouped whether the product has {@link Groups}
 * @param scaled whether the factors have {@link BlockScales}
 */
record TensorVariant(
    TensorTile tile,
    Operand a,
    Operand b,
    Factors factors,
    Optional<Epilogue> epilogue,
    int accessC,
    boolean grouped,
    boolean scaled)
    implements Variant {

  TileProduct product() {
    return TileProduct.of(tile, a, b, factors);
  }

  /** Returns a name such as {@code matmul_f16_64x64x32x3_nt_a16_b16_f16_bias_relu_c16}. */
  @Override
  public String name() {
    return "%smatmul_%s%s_%s_%s_a%d_b%d%s"
        .formatted(
            grouped ? "grouped_" : "",
            dtypes(a, b),
            factors.text(),
            tile,
            forms(a, b),
            a.access(),
            b.access(),
            epilogue
                .map(e -> e.name() + "_c" + accessC)
                .orElse(scaled ? "_blocks_split" : "_split"));
  }

  /**
   * Returns the order of summation: instructions of one shape in ascending K, whatever the tile.
   * Integer sums are exact.
   */
  String order(Epilogue epilogue) {
    return order(a, b, tile.instruction(), factors, epilogue);
  }

  /** Returns the order of summation of a product with an instruction. */
  static String order(
      Operand a, Operand b, Instruction instruction, Factors factors, Epilogue epilogue) {
    var mma = Operand.mma(a, b, factors);
    var instructions =
        mma.sum() == Type.S32
            ? "exact"
            : "%s_k%d%s".formatted(instruction.text(), mma.k(), factors.text());
    return "matmul_%s_%s_%s%s".formatted(dtypes(a, b), instructions, forms(a, b), epilogue.name());
  }

  /** Returns the dtypes of the factors, as part of names. */
  static String dtypes(Operand a, Operand b) {
    return a.dtype() == b.dtype() ? a.dtype().text() : a.dtype().text() + "_" + b.dtype().text();
  }

  /** Returns whether each factor is transposed, as part of names. */
  static String forms(Operand a, Operand b) {
    return (a.transposed() ? "t" : "n") + (b.transposed() ? "t" : "n");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), tile.threads(), this::write);
  }

  private void write(KernelBuilder k) {
    var firstA = k.input("a", a.type());
    var firstB = k.input("b", b.type());
    var firstC =
        k.pointer("c", epilogue.map(e -> Epilogue.type(e.out())).orElse(product().mma().sum()));
    var m = k.integer("m");
    var n = k.integer("n");
    var depth = k.integer("k");
    var lda = k.integer("lda");
    var ldb = k.integer("ldb");
    var located =
        TileLocator.declare(k, grouped)
            .locate(
                new BatchParameters.Matrices(firstA, firstB, firstC), TileScheduler.of(tile), m, n);
    var place = located.tile();
    var matrices = located.matrices();
    var product = product().in(k);
    var left = new TensorMatmul.Source(matrices.a(), lda, located.m(), depth, a.access());
    var right = new TensorMatmul.Source(matrices.b(), ldb, n, depth, b.access());
    var scales =
        scaled ? Optional.of(BlockScales.declare(k, depth)) : Optional.<BlockScales>empty();
    if (epilogue.isEmpty()) {
      var share = KRange.ofBlock(k, k.integer("depth"), depth);
      SplitVariant.keep(k, firstC, tile, product.multiply(left, right, place, scales, share));
      return;
    }
    var applied = epilogue.get().declare(k);
    var to = new TensorMatmul.Destination(matrices.c(), located.m(), n, accessC);
    located.compute(
        k,
        TileScheduler.of(tile),
        tile.threads(),
        n,
        () ->
            product.store(
                product.multiply(left, right, place, scales, KRange.all(k, depth)),
                place,
                to,
                () -> located.epilogue(applied, n)));
  }
}
