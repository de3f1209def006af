package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * A ring buffer of stages in shared memory, which a producer fills while earlier ones are read. All
 * threads of the block participate in every step.
 */
final class Ring {
  private final KernelBuilder k;
  private final TensorTile tile;
  private final int stageBytes;
  private final Producer producer;
  private final Int.Variable full;
  private final Int.Variable free;

  /**
   * Fills all stages but one and waits for the first.
   *
   * @param from first index along K
   * @param producer fills a stage and commits its copies
   */
  Ring(KernelBuilder k, TileProduct product, Int from, Producer producer) {
    this.k = k;
    tile = product.tile();
    stageBytes = product.stageBytes();
    this.producer = producer;
    for (int stage = 0; stage < ahead(); stage++) {
      producer.fill(k.integer(stage * stageBytes), from.plus(stage * tile.k())).run();
    }
    full = k.variable(k.integer(0));
    free = k.variable(k.integer(ahead() * stageBytes));
    await();
  }

  /**
   * Returns the number of stages that are filled before the first is read. Warpgroups may still
   * read the stage before it.
   */
  static int ahead(TensorTile tile) {
    return tile.stages() - (tile.ofGroups() ? 2 : 1);
  }

  private int ahead() {
    return ahead(tile);
  }

  /** Returns the offset of the stage that is read. */
  Int full() {
    return full;
  }

  /**
   * Starts to fill the free stage, which all warps have read before the last {@link #advance}.
   *
   * @param current first index along K of the stage that is read
   * @return see {@link Producer#fill}
   */
  Runnable fill(Int current) {
    return producer.fill(free, current.plus(ahead() * tile.k()));
  }

  /** Releases the stage that was read and waits for the next one. */
  void advance(Runnable beforeWaiting) {
    free.set(tile.ofGroups() ? next(free) : full);
    full.set(next(full));
    beforeWaiting.run();
    await();
  }

  private Int next(Int stage) {
    var next = stage.plus(stageBytes);
    return k.integer(0).where(next.eq(k.integer(tile.stages() * stageBytes)), next);
  }

  /** Waits until the oldest stage in flight has arrived for all threads. */
  private void await() {
    k.awaitCopies(ahead() - 1);
    if (tile.ofGroups()) {
      k.fenceAsyncProxy();
    }
    k.barrier();
  }
}
