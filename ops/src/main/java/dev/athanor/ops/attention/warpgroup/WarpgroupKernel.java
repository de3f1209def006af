package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.author.TensorParameter;
import dev.athanor.engine.author.WarpRole;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.tile.persistent.StageRing;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Emits the kernel of {@code softmax(score(q·kᵀ))·v} after FlashAttention-3 (Shah et al., 2024). A
 * warpgroup copies tiles of keys and values to rings in shared memory. Each of the others computes
 * {@value WarpgroupTile#ROWS} queries: it starts the product of the queries and the next keys, then
 * that of the weights, in registers, and these values, and computes the softmax of the first while
 * the second runs. The warpgroups take turns to start products, so that one multiplies while
 * another computes its softmax.
 *
 * <p>Parameters: the tensors {@code q, k, v, out}, then {@code [lse], [values], rows, keys, group,
 * dv, matrices, section, [queries], [splits], [mask, batchRows, headRows, queryRows],
 * [sharedHeads], [lengths, [table, maxBlocks, blocks, blockSize]], factor, cap, window}. Each of
 * the {@code matrices}, the heads of all batches and splits, has {@code rows} queries; {@code
 * group} consecutive ones share a head of k and v. Packed rows are those of several heads with
 * {@code queries} each. Where queries do not see all keys, {@code values} is the address of v. A
 * kernel with splits writes f32 to {@code out} and pairs to {@code lse}, as the other kernels of
 * attention do.
 *
 * <p>The one-dimensional grid enumerates sections of {@code section} heads; of a section, the last
 * tiles of queries of all heads come first.
 */
final class WarpgroupKernel {

  /** Warps of a warpgroup. */
  private static final int WARPS = WarpRole.GROUP / KernelBuilder.WARP;

  private final KernelBuilder k;
  private final WarpgroupVariant variant;
  private final WarpgroupTile tile;
  private final WarpgroupBlock block;

  private WarpgroupKernel(KernelBuilder k, WarpgroupVariant variant) {
    this.k = k;
    this.variant = variant;
    tile = variant.tile();
    block = new WarpgroupBlock(k, variant);
  }

  static Kernel build(WarpgroupVariant variant) {
    return KernelBuilder.buildCluster(
        variant.name(), variant.tile().threads(), 1, k -> new WarpgroupKernel(k, variant).write());
  }

  private void write() {
    k.when(
        k.thread().eq(0),
        () -> {
          block.queryFull.initialize(0, 1);
          if (variant.hides()) {
            block.screen.initialize();
          }
          block.keyRing.initialize(tile.groups());
          block.valueRing.initialize(tile.groups() * (variant.hides() ? WARPS : 1));
          Stream.of(block.q, block.keys, block.values, block.out)
              .forEach(TensorParameter::prefetch);
        });
    k.barrier();
    if (variant.split()) {
      // the blocks that combine become resident meanwhile; after the roles, registers would spill
      k.launchDependents();
    }
    WarpRole.divide(
        k,
        List.of(
            new WarpRole(1, tile.copying(), _ -> copy()),
            new WarpRole(
                tile.groups(),
                tile.multiplying(),
                group -> new WarpgroupConsumer(block, group).attend())));
  }

  /** One thread copies; other warps screen the values. */
  private void copy() {
    var isCopying = k.thread().lt(KernelBuilder.WARP);
    k.when(isCopying, () -> k.when(k.elect(), this::copyAll));
    if (variant.hides()) {
      k.when(isCopying.not(), () -> block.screen.screen(block.tiles, block::hides));
    }
  }

  private void copyAll() {
    var queries = variant.queries();
    block.queryFull.arriveAndExpect(k.integer(0), tile.groups() * queries.bytes());
    for (int group = 0; group < tile.groups(); group++) {
      queries.load(
          block.q,
          k,
          block.shared,
          k.integer(group * variant.bytesOfGroup()),
          block.queryFull,
          k.integer(0),
          block.firstRow.plus(group * WarpgroupTile.ROWS),
          block.matrix);
    }
    var keyPosition = block.keyRing.ofProducer();
    var valuePosition = block.valueRing.ofProducer();
    copyKeys(keyPosition, k.integer(0));
    // in the order of their use
    k.loop(
        k.integer(1),
        block.tiles,
        1,
        number -> {
          copyKeys(keyPosition, number);
          copyValues(valuePosition, number.minus(k.integer(1)));
        });
    copyValues(valuePosition, block.tiles.minus(k.integer(1)));
  }

  private void copyKeys(StageRing.Position position, Int number) {
    copy(block.keyRing, position, block.keys, variant.keys(), variant.keysAt(), number);
  }

  private void copyValues(StageRing.Position position, Int number) {
    copy(block.valueRing, position, block.values, variant.values(), variant.valuesAt(), number);
  }

  private void copy(
      StageRing ring,
      StageRing.Position position,
      TensorParameter tensor,
      Panels panels,
      int offset,
      Int number) {
    position.awaitFree(panels.bytes());
    var to = position.stage().times(panels.bytes()).plus(offset);
    Consumer<Int> copy =
        first -> {
          var place = block.place(block.key(number).plus(first));
          panels.load(
              tensor,
              k,
              block.shared,
              to.plus(first.times(SharedTile.ASYNC_ROW)),
              ring.mbarriers(),
              position.stage(),
              place.row(),
              place.matrix());
        };
    if (variant.keysOfCopy() == tile.keys()) {
      copy.accept(k.integer(0));
    } else {
      k.loop(k.integer(0), k.integer(tile.keys()), variant.keysOfCopy(), copy);
    }
    position.advance();
  }
}
