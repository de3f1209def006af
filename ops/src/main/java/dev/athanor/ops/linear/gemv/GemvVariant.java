package dev.athanor.ops.linear.gemv;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Variant;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.tile.Epilogue;

/**
 * A product of a matrix and a vector.
 *
 * @param product the matrix as a
 * @param access bytes per load of the matrix: from one element to 16
 * @param lanes threads per row of a matrix that is not transposed: 8, 32 or all of the block; 32
 *     for a transposed matrix, whose rows a warp traverses
 */
record GemvVariant(Product product, int access, int lanes) implements Variant {

  static final int THREADS = 256;

  /** Matrix loads in flight per thread. */
  static final int UNROLL = 4;

  /** Returns the elements per access. */
  int elements() {
    return access / product.dtype().bytes();
  }

  /** Returns the outputs per block. */
  int outputs() {
    return product.transposeA() ? lanes * elements() : THREADS / lanes;
  }

  /** Returns the depth of one iteration of a block. */
  int step() {
    return UNROLL * (product.transposeA() ? THREADS / lanes : lanes * elements());
  }

  /** Returns a name such as {@code gemv_f16_f32_n32_a16}. */
  @Override
  public String name() {
    return product.name(
        "gemv", "%s%d_a%d".formatted(product.transposeA() ? "t" : "n", lanes, access));
  }

  /**
   * Applies the epilogue to a sum. The result vector is a row or a column of a matrix product.
   *
   * @param columnStep column stride of that product between outputs: 0 or 1
   */
  static Value finish(
      KernelBuilder k, Epilogue.Applied epilogue, Real sum, Int output, Int columnStep, Int count) {
    var first = epilogue.row(k.integer(0), k.integer(1));
    return epilogue.finish(sum, first, epilogue.column(output.times(columnStep), count));
  }

  @Override
  public Kernel build() {
    return KernelBuilder.build(name(), THREADS, k -> new GemvKernel(k, this).write());
  }
}
