package dev.athanor.ops.linear.simt;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.linear.ProductParameters;

/**
 * A tiled product of f32 or f64. Tiles of a and b are in shared memory; a thread accumulates outer
 * products of a column of a and a row of b in registers.
 *
 * @param accessA bytes per load of a, limited by the alignment of its rows: from one element to 16
 * @param accessB the same for b
 * @param accessC the same for the stores of c
 */
record SimtVariant(Product product, SimtTile tile, int accessA, int accessB, int accessC)
    implements Variant {

  /** Returns a name such as {@code matmul_f32_64x64x16_nt_a16_b4_c16_bias_relu}. */
  @Override
  public String name() {
    return product.name(
        "matmul",
        "%s_%s_a%d_b%d_c%d".formatted(tile, product.transposes(), accessA, accessB, accessC));
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), tile.threads(), this::write);
  }

  private void write(KernelBuilder k) {
    var problem = new ProductParameters(k, product, tile.m(), tile.n());
    problem.compute(tile.threads(), () -> multiply(k, problem));
  }

  private void multiply(KernelBuilder k, ProductParameters problem) {
    var a = OperandTile.ofA(k, this, problem);
    var b = OperandTile.ofB(k, this, problem);
    var shared = DoubleBuffer.shared(k, a, b);
    var sums = SimtPart.of(k, this, problem);
    var stages = new DoubleBuffer(k, shared, a, b, problem.range.from());
    k.loop(
        problem.range.from(),
        problem.range.to(),
        tile.k(),
        depth -> {
          var next = stages.load(depth.plus(tile.k()));
          sums.addOuterProducts(stages.a(), stages.b());
          next.run();
        });
    sums.store();
  }
}
