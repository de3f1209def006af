package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.KernelBuilder;

/**
 * Step 5, asynchronous copies: {@code cp.async} moves 16 bytes from global to shared memory without
 * a register, and the thread continues. With two stages, the next one is copied while the current
 * one is multiplied.
 *
 * <p>The profiler counts as many instructions and sectors as before, but no loads from global
 * memory into registers. A thread waits for such a load, about five hundred cycles; now the block
 * computes during that time.
 */
record AsyncCopies() implements LadderStep {

  @Override
  public String name() {
    return "async-copies";
  }

  @Override
  public String summary() {
    return "Two stages and cp.async: the next one is copied while the current one is multiplied.";
  }

  @Override
  public int threads() {
    return VectorLoads.SIDE * VectorLoads.SIDE;
  }

  @Override
  public int sharedBytes() {
    return 2 * Stages.BYTES;
  }

  @Override
  public void write(KernelBuilder k, Matrices matrices) {
    var stages = new Stages(k, matrices, threads(), k.dynamicShared(), false);
    var sums = Matrices.sums(k, VectorLoads.EACH * VectorLoads.EACH);
    var current = k.variable(k.integer(0));
    stages.copy(k.integer(0), k.integer(0));
    k.loop(
        k.integer(0),
        matrices.depth,
        DEPTH,
        depth -> {
          var other = current.xor(k.integer(Stages.BYTES));
          stages.copy(other, depth.plus(DEPTH));
          // all groups but the newest are complete, so this stage is
          k.awaitCopies(1);
          k.barrier();
          VectorLoads.multiply(k, stages.a(current), stages.b(current), sums);
          k.barrier();
          current.set(other);
        });
    VectorLoads.store(k, matrices, sums);
  }
}
