package dev.athanor.engine.author;

import static dev.athanor.engine.author.KernelBuilder.WARP;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;

/**
 * A reduction over all threads of a block.
 *
 * @param threads number of threads of the block
 * @param neutral the neutral element of {@code combine}
 */
record BlockReduction(KernelBuilder k, int threads, double neutral, BinaryOperator<Real> combine) {

  /** Reduces each of the thread's values separately; all threads receive the results. */
  List<Real> of(List<Real> values) {
    return threads % WARP == 0 ? byWarps(values) : byThreads(values);
  }

  private List<Real> byWarps(List<Real> values) {
    int warps = threads / WARP;
    var perWarp = values.stream().map(v -> k.reduceLanes(v, WARP, combine)).toList();
    if (warps == 1) {
      return perWarp;
    }
    var parts = k.shared(values.getFirst().type(), values.size(), warps, warps);
    k.when(
        k.lane().eq(0),
        () -> {
          for (int i = 0; i < values.size(); i++) {
            parts.store(k.integer(i), k.warp(), perWarp.get(i));
          }
        });
    k.barrier();
    int width = Integer.highestOneBit(2 * warps - 1);
    var all = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var own = k.variable(k.real(values.get(i).type(), neutral));
      int row = i;
      k.when(k.lane().lt(warps), () -> own.set(parts.load(k.integer(row), k.lane()).widen()));
      // lanes beyond the width hold the neutral element, so lane 0 has the block's result
      all.add(k.reduceLanes(own, width, combine).fromLane(k.integer(0)));
    }
    k.barrier();
    return all;
  }

  /** Reduces through shared memory: lanes of a partial warp cannot exchange values. */
  private List<Real> byThreads(List<Real> values) {
    var parts = k.shared(values.getFirst().type(), values.size(), threads, threads);
    for (int i = 0; i < values.size(); i++) {
      parts.store(k.integer(i), k.linearThread(), values.get(i));
    }
    k.barrier();
    var all = new ArrayList<Real>();
    for (int i = 0; i < values.size(); i++) {
      var own = k.variable(k.real(values.get(i).type(), neutral));
      int row = i;
      k.loop(
          k.integer(0),
          k.integer(threads),
          1,
          thread -> own.set(combine.apply(own, parts.load(k.integer(row), thread).widen())));
      all.add(own);
    }
    k.barrier();
    return all;
  }
}
