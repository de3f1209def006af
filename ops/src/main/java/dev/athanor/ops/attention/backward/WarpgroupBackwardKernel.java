package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Mbarriers;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.attention.backward.WarpgroupBackwardBlock.Pair;
import dev.athanor.ops.attention.warpgroup.Panels;
import dev.athanor.ops.attention.warpgroup.WarpgroupTile;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.List;

/**
 * Emits the kernels of attention's gradients for Hopper: those of {@link BackwardKernel}, with
 * roles as in FlashAttention-3 (Shah et al., 2024). A warpgroup copies the rows of the block and
 * then tiles of columns to a ring in shared memory. Each of the others has {@value
 * WarpgroupTile#ROWS} rows. It multiplies them by a tile; the probabilities and the gradients of
 * the scores, in its registers, are then the left factors of the products with the same tile that
 * dq, or dk and dv, are sums of. For dk and dv rows are keys, so that nothing is transposed.
 *
 * <p>dq has a kernel of its own, which computes scores again: in one kernel, dq would need atomics,
 * blocks that wait for each other, or a workspace that grows with the square of the length.
 *
 * <p>Parameters: the tensors {@code q, grad, k, v, first, [second]}, then {@code lse, delta,
 * [columns], [secondColumns], queries, keys, group, d, dv, scale, factor, cap, window}. Of dq,
 * which is {@code first}, lse and delta are addresses; of dk and dv, which are {@code first} and
 * {@code second}, tensors of one dimension. Where queries do not see all keys, {@code columns} is
 * the address of k for dq; for dk and dv {@code columns} and {@code secondColumns} are those of q
 * and grad. The one-dimensional grid enumerates tiles of rows first, then the heads of all batches.
 */
final class WarpgroupBackwardKernel {

  /** Warps of a warpgroup. */
  private static final int WARPS = WarpRole.GROUP / KernelBuilder.WARP;

  private final KernelBuilder k;
  private final WarpgroupBackwardVariant variant;
  private final WarpgroupTile tile;
  private final WarpgroupBackwardBlock block;

  private WarpgroupBackwardKernel(KernelBuilder k, WarpgroupBackwardVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    block = new WarpgroupBackwardBlock(k, variant);
  }

  static Kernel build(WarpgroupBackwardVariant variant) {
    return KernelBuilder.buildCluster(
        variant.name(),
        variant.tile().threads(),
        1,
        k -> new WarpgroupBackwardKernel(k, variant).write());
  }

  private void write() {
    k.when(
        k.thread().eq(0),
        () -> {
          block.rowsFull.initialize(0, 1);
          if (block.hides()) {
            block.screen.initialize();
          }
          block.ring.initialize(tile.groups() * WARPS);
          block.tensors().forEach(TensorParameter::prefetch);
        });
    k.barrier();
    WarpRole.divide(
        k,
        List.of(
            new WarpRole(1, variant.copying(), _ -> copy()),
            new WarpRole(
                tile.groups(),
                variant.multiplying(),
                group -> new WarpgroupBackwardConsumer(block, group).accumulate())));
  }

  /** One thread copies; other warps look for infinities and NaNs. */
  private void copy() {
    var isCopying = k.thread().lt(KernelBuilder.WARP);
    k.when(isCopying, () -> k.when(k.elect(), this::copyAll));
    if (block.hides()) {
      k.when(isCopying.not(), block::findSpecial);
    }
  }

  private void copyAll() {
    block.rowsFull.arriveAndExpect(k.integer(0), tile.groups() * variant.bytesOfGroup());
    for (int group = 0; group < tile.groups(); group++) {
      load(
          block.rowTensors,
          new Pair<>(variant.rows(), variant.secondRows()),
          k.integer(group * variant.bytesOfGroup()),
          block.rowsFull,
          k.integer(0),
          block.firstRow.plus(group * WarpgroupTile.ROWS),
          block.matrix);
    }
    var position = block.ring.ofProducer();
    block.overTiles((head, column) -> copy(position, head, column));
  }

  private void copy(StageRing.Position position, Int head, Int column) {
    var full = block.ring.mbarriers();
    position.awaitFree(variant.stageBytes() + 2 * variant.statisticBytes());
    load(
        block.columnTensors,
        new Pair<>(variant.columns(), variant.secondColumns()),
        block.columnsAt(position.stage()),
        full,
        position.stage(),
        column,
        head);
    for (int i = 0; i < block.statistics.size(); i++) {
      block
          .statistics
          .get(i)
          .load(
              block.shared.at(
                  block.statisticsAt(position.stage()).plus(i * variant.statisticBytes())),
              full,
              position.stage(),
              List.of(head.times(block.queries).plus(column)));
    }
    position.advance();
  }

  /** Starts to copy the same rows of two tensors, one behind the other. */
  private void load(
      Pair<TensorParameter> tensors,
      Pair<Panels> panels,
      Int to,
      Mbarriers full,
      Int index,
      Int row,
      Int matrix) {
    panels.first().load(tensors.first(), k, block.shared, to, full, index, row, matrix);
    panels
        .second()
        .load(
            tensors.second(),
            k,
            block.shared,
            to.plus(panels.first().bytes()),
            full,
            index,
            row,
            matrix);
  }
}
