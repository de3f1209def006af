package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.GroupTiles;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.KRange;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.persistent.PersistentProduct;
import dev.athanor.ops.tile.persistent.PersistentTile;
import java.util.List;
import java.util.Optional;

/**
 * A {@link PersistentProduct}. The kernel's parameters are the tensors {@code a, b, c}, then {@code
 * m, n, k}, the number of {@code products} and of those in the {@code inner} loop of the batch, the
 * steps {@code innerA, innerB, outerA, outerB} of the indices of matrices, those of the epilogue
 * and those of {@link BlockScales}, then those of its {@link Work}.
 */
record PersistentVariant(PersistentTile tile, Operand a, Operand b, Epilogue epilogue, Work work)
    implements Variant {

  /** What the tiles of a launch are. */
  enum Work {
    WHOLE,
    /**
     * Partial sums, the first of two split-K steps: {@code shares}, and the {@code share} of K that
     * each sums. The matrices of c are the products' sums, share by share.
     */
    SHARES,
    /**
     * Groups of rows, which are the products: those of {@link GroupTiles}, and c as {@code rows}.
     */
    OF_GROUPS
  }

  PersistentProduct product() {
    return new PersistentProduct(tile, a, b);
  }

  /** Returns a name such as {@code matmul_bf16_persistent_128x256x4_cluster2_nt_bf16_bias}. */
  @Override
  public String name() {
    return "%smatmul_%s_persistent_%s_%s%s%s"
        .formatted(
            work == Work.OF_GROUPS ? "grouped_" : "",
            TensorVariant.dtypes(a, b),
            tile,
            TensorVariant.forms(a, b),
            epilogue.name(),
            work == Work.SHARES ? "_split" : "");
  }

  @Override
  public Kernel build() {
    return KernelBuilder.buildCluster(name(), tile.threads(), tile.cluster(), this::write);
  }

  private void write(KernelBuilder k) {
    var tensorA = k.tensor("a");
    var tensorB = k.tensor("b");
    var tensorC = k.tensor("c");
    var m = k.integer("m");
    var n = k.integer("n");
    var depth = k.integer("k");
    var products = k.integer("products");
    var inner = k.integer("inner");
    var innerA = k.integer("innerA");
    var innerB = k.integer("innerB");
    var outerA = k.integer("outerA");
    var outerB = k.integer("outerB");
    var applied = epilogue.declare(k);
    var scales =
        epilogue.scale() == Epilogue.Scale.BLOCKS
            ? Optional.of(BlockScales.declare(k, depth))
            : Optional.<BlockScales>empty();
    boolean split = work == Work.SHARES;
    boolean grouped = work == Work.OF_GROUPS;
    var matrices = split ? products.times(k.integer("shares")) : products;
    var share = split ? Optional.of(k.integer("share")) : Optional.<Int>empty();
    var out = Epilogue.type(epilogue.out());
    product()
        .write(
            k,
            new PersistentProduct.Matrices(
                tensorA,
                tensorB,
                tensorC,
                out,
                m,
                n,
                matrices,
                matrix ->
                    share
                        .map(each -> KRange.ofShare(matrix.div(products), each, depth))
                        .orElseGet(() -> KRange.all(k, depth)),
                matrix -> {
                  var product = split ? matrix.rem(products) : matrix;
                  var outer = product.div(inner);
                  var within = product.minus(outer.times(inner));
                  return new PersistentProduct.Indices(
                      List.of(within.times(innerA), outer.times(outerA)),
                      List.of(within.times(innerB), outer.times(outerB)));
                },
                scales,
                grouped ? Optional.of(groups(k, out)) : Optional.empty()),
            // each group has columns of its own
            index -> grouped ? applied.fromColumn(index.times(n)) : applied);
    if (split) {
      k.launchDependents();
    }
  }

  private static PersistentProduct.Grouped groups(KernelBuilder k, Type out) {
    return new PersistentProduct.Grouped(GroupTiles.declare(k), k.pointer("rows", out));
  }
}
