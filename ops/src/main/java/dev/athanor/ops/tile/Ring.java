package dev.athanor.ops.tile;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * Stages in shared memory, which are filled by asynchronous copies while earlier ones are read. All
 * threads of the block take part in every step.
 */
final class Ring {
  private final KernelBuilder k;
  private final int stages;
  private final int stageBytes;
  private final Int.Variable full;
  private final Int.Variable free;

  /** Declares the ring's state, with the first {@link #ahead} stages under way. */
  Ring(KernelBuilder k, int stages, int stageBytes) {
    this.k = k;
    this.stages = stages;
    this.stageBytes = stageBytes;
    full = k.variable(k.integer(0));
    free = k.variable(k.integer(ahead(stages) * stageBytes));
  }

  /** Returns how many stages are filled before the first is read. */
  static int ahead(int stages) {
    return stages - 1;
  }

  /** Returns the offset of the stage that is read. */
  Int full() {
    return full;
  }

  /** Returns the offset of the stage that may be filled: every warp has read it. */
  Int free() {
    return free;
  }

  /** Releases the stage that was read, and makes the next one full once it has arrived. */
  void advance(Runnable beforeWaiting) {
    free.set(full);
    var next = full.plus(stageBytes);
    full.set(k.integer(0).where(next.eq(k.integer(stages * stageBytes)), next));
    beforeWaiting.run();
    await();
  }

  /** Waits until the oldest stage under way has arrived for all threads. */
  void await() {
    k.awaitCopies(ahead(stages) - 1);
    k.barrier();
  }
}
