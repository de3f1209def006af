package dev.athanor.ops.matmul;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Candidates;
import dev.athanor.ops.LaunchPlan;
import java.util.List;
import java.util.Map;

/**
 * Chooses how a product is computed. Each family of kernels has a planner that offers them; costs
 * are microseconds of a rough model, so that families compare.
 */
final class MatmulPlanner {

  /** What a launch takes. */
  static final double LAUNCH_MICROSECONDS = 3;

  static final double CYCLES_PER_MICROSECOND = 1500;

  /** Multiply-adds that a multiprocessor does in a cycle, one a lane. */
  private static final double LANES = 128;

  private MatmulPlanner() {}

  /** The plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(MatmulProblem problem, Capability device) {
    var candidates = new Candidates("product of " + problem.dtype().text(), device);
    var computed = problem.withRowsTogether();
    if (GemvProblem.fits(computed)) {
      GemvPlanner.offer(GemvProblem.of(computed), device, candidates);
    }
    CoresPlanner.offer(computed, device, candidates);
    TensorPlanner.offer(computed, device, candidates);
    return candidates.plans(Map.of("c", problem.output()), problem.cost());
  }

  /** The time of a launch whose multiprocessors do so many multiply-adds each, one a lane. */
  static double microseconds(double multiplyAdds) {
    return LAUNCH_MICROSECONDS + multiplyAdds / (LANES * CYCLES_PER_MICROSECOND);
  }
}
