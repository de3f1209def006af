package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.Int;
import dev.athanor.engine.author.KernelBuilder;

/**
 * Step 8, a longer pipeline: a ring of four stages, three of which are in flight while one is
 * multiplied. This is necessary if a stage is multiplied in less time than the latency of memory.
 *
 * <p>It also saves a barrier: the next stage to be filled is the one that was multiplied last, and
 * the barrier that publishes the next stage also guarantees that all threads have finished with
 * that one. The profiler shows half as many barriers.
 */
record Pipeline() implements LadderStep {

  private static final int STAGES = 4;

  @Override
  public String name() {
    return "pipeline";
  }

  @Override
  public String summary() {
    return "A ring of four stages, three of them in flight, and one barrier per stage.";
  }

  @Override
  public int threads() {
    return TensorCores.THREADS;
  }

  @Override
  public int sharedBytes() {
    return STAGES * Stages.BYTES;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var stages = new Stages(k, matrices, threads(), k.dynamicShared(), true);
    var sums = Matrices.sums(k, TensorCores.WARP_TILE * TensorCores.WARP_TILE / KernelBuilder.WARP);
    int ahead = STAGES - 1;
    for (int i = 0; i < ahead; i++) {
      stages.copy(k.integer(i * Stages.BYTES), k.integer(i * DEPTH));
    }
    var current = k.variable(k.integer(0));
    var free = k.variable(k.integer(ahead * Stages.BYTES));
    k.loop(
        k.integer(0),
        matrices.depth,
        DEPTH,
        depth -> {
          k.awaitCopies(ahead - 1);
          k.barrier();
          stages.copy(free, depth.plus(ahead * DEPTH));
          TensorCores.multiply(
              k, stages, current, sums, MatrixLoads::fragmentOfA, MatrixLoads::fragmentOfB);
          current.set(next(current));
          free.set(next(free));
        });
    TensorCores.store(k, matrices, sums);
  }

  /** Returns the next stage of the ring; their number is a power of two. */
  private static Int next(Int stage) {
    return stage.plus(Stages.BYTES).and(STAGES * Stages.BYTES - 1);
  }
}
