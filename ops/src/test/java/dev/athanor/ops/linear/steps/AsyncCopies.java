package dev.athanor.ops.linear.steps;

import dev.athanor.engine.author.KernelBuilder;

/**
 * Step 5, copies that nobody waits for: {@code cp.async} moves 16 bytes from global to shared
 * memory without a register between, and the thread goes on. With two stages, the next is on its
 * way while this one is multiplied.
 *
 * <p>The profiler counts as many instructions and sectors as before, but not one load from global
 * memory into a register any more, and such a load is what a thread waits for: some five hundred
 * cycles, which now pass while the block computes.
 */
record AsyncCopies() implements LadderStep {

  @Override
  public String name() {
    return "async-copies";
  }

  @Override
  public String summary() {
    return "Two stages and cp.async, so that the next is on its way while this one is multiplied.";
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
          // all groups but the newest: this stage is there
          k.awaitCopies(1);
          k.barrier();
          VectorLoads.multiply(k, stages.a(current), stages.b(current), sums);
          k.barrier();
          current.set(other);
        });
    VectorLoads.store(k, matrices, sums);
  }
}
