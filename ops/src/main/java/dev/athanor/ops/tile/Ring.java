package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.ops.tile.TensorTile.Instruction;

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
    await(ahead() - 1);
  }

  /** Returns the number of stages that are filled before the first is read. */
  private int ahead() {
    return tile.stages() - 1;
  }

  /** Returns the offset of the stage that is read. */
  Int full() {
    return full;
  }

  /**
   * Starts to fill the free stage, which all warps have read.
   *
   * @param current first index along K of the stage that is read
   * @return see {@link Producer#fill}
   */
  Runnable fill(Int current) {
    return producer.fill(free, current.plus(ahead() * tile.k()));
  }

  /** Releases the stage that was read and waits for the next one. */
  void advance(Runnable beforeWaiting) {
    free.set(full);
    full.set(next());
    beforeWaiting.run();
    await(ahead() - 1);
  }

  /**
   * Waits for the next stage and starts to fill the one before this stage, while warpgroups still
   * read this stage.
   *
   * @param current first index along K of this stage, which all warps have begun to read
   */
  void advanceAhead(Int current) {
    await(ahead() - 2);
    fill(current).run();
    free.set(full);
    full.set(next());
  }

  private Int next() {
    var next = full.plus(stageBytes);
    return k.integer(0).where(next.eq(k.integer(tile.stages() * stageBytes)), next);
  }

  /**
   * Waits for stages in flight until they have arrived for all threads.
   *
   * @param pending number of the newest stages to leave in flight
   */
  private void await(int pending) {
    k.awaitCopies(pending);
    if (tile.instruction() == Instruction.WGMMA) {
      k.fenceAsyncProxy();
    }
    k.barrier();
  }
}
