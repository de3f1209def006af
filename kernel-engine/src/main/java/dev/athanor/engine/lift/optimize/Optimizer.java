package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Graph;
import java.util.List;

/** The passes, in order. */
public final class Optimizer {
  private static final List<Pass> CLEANUP =
      List.of(
          new RemoveTrivialParameters(),
          new MergeBlocks(),
          new NumberValues(),
          new RemoveProvenChecks(),
          new ConvertIfs(),
          new RemoveDeadCode(),
          new PromoteArrays());

  private static final int MOST_ROUNDS = 8;
  private static final int MOST_LOOPS = 50;
  private static final Pass UNROLL = new UnrollLoops();

  private static final List<Pass> FOR_DEBUGGING =
      List.of(new RemoveTrivialParameters(), new MergeBlocks(), new RemoveDeadCode());

  private Optimizer() {}

  /** Tidies a kernel in place; each line and each variable of its source stays. */
  public static void prepareForDebugging(Graph graph) {
    cleanUp(graph, FOR_DEBUGGING);
  }

  /** Optimizes a kernel in place. */
  public static void optimize(Graph graph) {
    cleanUp(graph);
    for (int loops = 0; loops < MOST_LOOPS && UNROLL.run(graph); loops++) {
      cleanUp(graph);
    }
    for (var pass :
        List.of(
            new ReadOnlyLoads(),
            new HoistInvariants(), // of bounds, so that their loops can be unrolled
            new UnrollPartially(),
            new GatherChecks(), // before loads, so that these can be combined
            new FoldOffsets(),
            new CombineLoads(),
            new CombineStores(),
            new RotateLoops(),
            new HoistInvariants())) {
      pass.run(graph);
      cleanUp(graph);
    }
  }

  private static void cleanUp(Graph graph) {
    cleanUp(graph, CLEANUP);
  }

  private static void cleanUp(Graph graph, List<Pass> passes) {
    boolean changed = true;
    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
      changed = false;
      for (var pass : passes) {
        changed |= pass.run(graph);
      }
    }
  }
}
