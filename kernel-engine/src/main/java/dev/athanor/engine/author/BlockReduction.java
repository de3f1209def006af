package dev.athanor.engine.author;

import static dev.athanor.engine.author.KernelBuilder.WARP;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BinaryOperator;

/**
 * How all threads of a block combine their values.
 *
 * @param threads of the block
 * @param neutral what combines with a value to that value
 */
record BlockReduction(KernelBuilder k, int threads, double neutral, BinaryOperator<Real> combine) {

  /** What the values of all threads make, one for each that a thread has. */
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
      // lanes beyond the width hold the neutral value, so the first group's result is everyone's
      all.add(k.reduceLanes(own, width, combine).fromLane(k.integer(0)));
    }
    k.barrier();
    return all;
  }

  /** Lanes of a warp that is not full exchange nothing, so each thread reads what all have. */
  private List<Real> byThreads(List<Real> values) {
    var parts = k.shared(values.getFirst().type(), values.size(), threads, threads);
    for (int i = 0; i < values.size(); i++) {
      parts.store(k.integer(i), k.threadOfAll(), values.get(i));
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
