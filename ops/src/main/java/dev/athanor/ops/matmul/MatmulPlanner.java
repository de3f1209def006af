package dev.athanor.ops.matmul;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Candidates;
import dev.athanor.ops.LaunchPlan;
import java.util.List;
import java.util.Map;

/** Chooses how a product is computed, among the ways of all kinds of kernels. */
final class MatmulPlanner {

  private MatmulPlanner() {}

  /** The plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(MatmulProblem problem, Capability device) {
    var candidates = new Candidates("product of " + problem.dtype().text(), device);
    if (GemvProblem.fits(problem)) {
      GemvPlanner.offer(GemvProblem.of(problem), device, candidates);
    }
    CoresPlanner.offer(problem, device, candidates);
    TensorPlanner.offer(problem, device, candidates);
    return candidates.plans(Map.of("c", problem.output()), problem.cost());
  }
}
