package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.Product;

/**
 * A product of f32 or f64, tile by tile.
 *
 * @param accessA bytes of a that a load moves, as the alignment of its rows allows: an element to
 *     16
 * @param accessB the same for b
 * @param accessC the same for the stores of c
 */
record CoresVariant(Product product, CoresTile tile, int accessA, int accessB, int accessC)
    implements Variant {

  /** For instance {@code matmul_f32_64x64x16_nt_a16_b4_c16_bias_relu}. */
  @Override
  public String name() {
    return product.name(
        "matmul",
        "%s_%s_a%d_b%d_c%d".formatted(tile, product.transposes(), accessA, accessB, accessC));
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), tile.threads(), k -> new CoresMatmul(k, this).write());
  }
}
