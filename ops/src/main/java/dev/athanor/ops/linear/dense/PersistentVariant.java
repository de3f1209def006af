package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.GroupTiles;
import dev.athanor.ops.linear.Groups;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.persistent.PersistentProduct;
import dev.athanor.ops.tile.persistent.PersistentTile;
import java.util.List;
import java.util.Optional;

/**
 * A {@link PersistentProduct}. The kernel's parameters are the tensors {@code a, b, c}, then {@code
 * m, n, k}, the number of {@code products} and of those in the {@code inner} loop of the batch, the
 * steps {@code innerA, innerB, outerA, outerB} of the indices of matrices, those of the epilogue
 * and those of {@link BlockScales}. With {@link Groups}, which are the products, those of {@link GroupTiles}
 * and c once more as {@code rows} follow.
 */
record PersistentVariant(
    PersistentTile tile, Operand a, Operand b, Epilogue epilogue, boolean grouped)
    implements Variant {

  PersistentProduct product() {
    return new PersistentProduct(tile, a, b);
  }

  /** Returns a name such as {@code matmul_bf16_persistent_128x256x4_cluster2_nt_bf16_bias}. */
  @Override
  public String name() {
    return "%smatmul_%s_persistent_%s_%s%s"
        .formatted(
            grouped ? "grouped_" : "",
            TensorVariant.dtypes(a, b),
            tile,
            TensorVariant.forms(a, b),
            epilogue.name());
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
    var out = Epilogue.type(epilogue.out());
    var groups =
        grouped
            ? Optional.of(
                new PersistentProduct.Grouped(GroupTiles.declare(k), k.pointer("rows", out)))
            : Optional.<PersistentProduct.Grouped>empty();
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
                depth,
                products,
                product -> {
                  var outer = product.div(inner);
                  var within = product.minus(outer.times(inner));
                  return new PersistentProduct.Indices(
                      List.of(within.times(innerA), outer.times(outerA)),
                      List.of(within.times(innerB), outer.times(outerB)));
                },
                scales,
                groups),
            // each group has columns of its own
            index -> grouped ? applied.fromColumn(index.times(n)) : applied);
  }
}
