package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.gemv.GemvPlanner;
import dev.athanor.ops.linear.gemv.GemvProblem;
import dev.athanor.ops.linear.simt.SimtPlanner;
import java.util.List;
import java.util.Map;

/**
 * Chooses the kernel of a product. Each kernel family has a planner that offers candidates. All
 * costs are microseconds of {@link dev.athanor.ops.cost.Machine}, so that families are comparable.
 */
final class MatmulPlanner {

  private MatmulPlanner() {}

  /** Returns the plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(MatmulProblem problem, Capability device) {
    var candidates = new Candidates("product of " + problem.dtype().text(), device);
    var computed = problem.withRowsTogether();
    if (GemvProblem.fits(computed)) {
      GemvPlanner.offer(GemvProblem.of(computed), device, candidates);
    }
    SimtPlanner.offer(computed, device, candidates);
    TensorPlanner.offer(computed, device, candidates);
    return candidates.plans(Map.of("c", problem.output()), problem.cost());
  }
}
