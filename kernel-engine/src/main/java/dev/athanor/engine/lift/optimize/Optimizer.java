package dev.athanor.engine.lift.optimize;

import dev.athanor.engine.lift.ir.Graph;
import java.util.List;

/** The passes, in order. */
public final class Optimizer {
  private static final List<Pass> CLEANUP =
      List.of(new RemoveTrivialParameters(), new MergeBlocks(), new RemoveDeadCode());

  private Optimizer() {}

  /** Optimizes a kernel in place. */
  public static void optimize(Graph graph) {
    cleanUp(graph);
  }

  private static void cleanUp(Graph graph) {
    CLEANUP.forEach(pass -> pass.run(graph));
  }
}
