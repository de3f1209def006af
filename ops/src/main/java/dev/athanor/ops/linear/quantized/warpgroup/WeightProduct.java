package dev.athanor.ops.linear.quantized.warpgroup;

import dev.athanor.engine.author.GlobalPointer;
import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.Mma;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.device.TensorMap.Promotion;
import dev.athanor.engine.device.TensorMap.SwizzleMode;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.tile.EpilogueFunction;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.TileScheduler.Order;
import java.util.List;
import java.util.Optional;

/**
 * A product {@code c = a · w} with quantized weights whose blocks compute one tile after another.
 * {@code wgmma} computes {@code cᵀ = wᵀ · aᵀ}: a factor in registers is always its first one, so
 * the weights go from shared memory through registers, where they are decoded, and rows of a are
 * read from shared memory. A warpgroup copies stages of a and of weights to a ring; the others
 * decode and multiply. The weights of a step are decoded while tensor cores multiply those of the
 * previous one (Machete, <a href="https://github.com/vllm-project/vllm/pull/7174">vLLM 7174</a>).
 *
 * <p>Weights are multiplied as integers, which every factor type represents exactly. The scales of
 * groups of 4-bit weights are applied to the sums of groups; that of int8 weights is part of the
 * epilogue.
 *
 * @param mma multiplies f16 or bf16
 */
public record WeightProduct(WeightTile tile, StageWeights weights, Mma mma) {

  /**
   * The matrices in a kernel.
   *
   * @param c a tensor of columns and rows
   * @param groups empty for int8 weights
   */
  public record Matrices(
      TensorParameter a,
      TensorParameter weights,
      TensorParameter c,
      Type out,
      Int m,
      Int n,
      Int depth,
      Optional<Groups> groups) {}

  /**
   * The scales and zero points of groups of 4-bit weights.
   *
   * @param scales {@code [groups, N]}
   * @param zeros {@code [groups, N/8]} words; empty if each zero point is 8
   * @param addedToZeros 1 if zero points are stored minus one
   * @param shift right shift from an index along K to its group; at least that of {@link
   *     WeightTile#DEPTH}
   */
  public record Groups(
      GlobalPointer scales, Optional<GlobalPointer> zeros, int addedToZeros, Int shift) {}

  /** Returns the tensor a, of whose rows a block of a cluster copies a share. */
  public TensorMap tensorA(int m, int k) {
    return TensorMap.of(
            mma.a() == Type.BF16 ? Element.BF16 : Element.F16,
            List.of((long) k, (long) m),
            List.of((long) k * mma.a().bytes()),
            List.of(WeightTile.DEPTH, tile.rows() / tile.cluster()))
        .withSwizzle(SwizzleMode.BYTES_128)
        .withPromotion(Promotion.BYTES_128);
  }

  /**
   * Returns the tensor c.
   *
   * @param element f32 or of 16 bits
   */
  public static TensorMap tensorC(Element element, int m, int n) {
    long row = (long) n * element.bytes();
    return TensorMap.of(
            element,
            List.of((long) n, (long) m),
            List.of(row),
            List.of(SharedTile.ASYNC_ROW / element.bytes(), WeightTile.PART))
        .withSwizzle(SwizzleMode.BYTES_128);
  }

  /** Returns the scheduler of the tiles of clusters, whose rows are the columns of c. */
  public TileScheduler scheduler() {
    return new TileScheduler(WeightTile.COLUMNS * tile.cluster(), tile.rows(), Order.BANDS);
  }

  /** Returns the bytes of a stage: the rows of a, then the weights. */
  public int stageBytes() {
    return tile.rowBytes() + weights.stageBytes();
  }

  /** Returns the offset of the parts of c in shared memory. */
  int parts() {
    return tile.stages() * stageBytes();
  }

  /** Returns the offset of the mbarriers in shared memory. */
  int mbarriers() {
    return parts() + WeightTile.GROUPS * WeightTile.PARTS * WeightTile.PART_BYTES;
  }

  /** Returns the dynamic shared memory, in bytes per block. */
  public int sharedBytes() {
    return mbarriers() + 2 * tile.stages() * Mbarriers.BYTES;
  }

  /** Emits the kernel's body. */
  public <L> void write(KernelBuilder k, Matrices matrices, EpilogueFunction<L> epilogue) {
    new WeightKernel(this, k, matrices).write(epilogue);
  }
}
