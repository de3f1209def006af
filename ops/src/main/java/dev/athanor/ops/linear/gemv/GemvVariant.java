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
 * @param access bytes of the matrix that a load moves: an element to 16
 * @param lanes threads that share a row of a matrix that is not transposed: 8, 32 or all of the
 *     block; 32 of one that is, where a warp goes along its rows
 */
record GemvVariant(Product product, int access, int lanes) implements Variant {

  static final int THREADS = 256;

  /** Loads of the matrix that a thread has under way at once. */
  static final int UNROLL = 4;

  /** Returns the elements of an access. */
  int elements() {
    return access / product.dtype().bytes();
  }

  /** Returns the outputs of a block. */
  int outputs() {
    return product.transposeA() ? lanes * elements() : THREADS / lanes;
  }

  /** How far along K a block goes at once. */
  int step() {
    return UNROLL * (product.transposeA() ? THREADS / lanes : lanes * elements());
  }

  /** For instance {@code gemv_f16_f32_n32_a16}. */
  @Override
  public String name() {
    return product.name(
        "gemv", "%s%d_a%d".formatted(product.transposeA() ? "t" : "n", lanes, access));
  }

  /**
   * What becomes of a sum. The vector is a row or a column of a matrix product.
   *
   * @param columnStep how many columns of that product an output is behind the one before: 0 or 1
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
