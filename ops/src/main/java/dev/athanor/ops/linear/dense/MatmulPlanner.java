package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.gemv.GemvPlanner;
import dev.athanor.ops.linear.gemv.GemvProblem;
import dev.athanor.ops.linear.simt.SimtPlanner;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Chooses the kernel of a product. Each kernel family has a planner that offers candidates. All
 * costs are microseconds of {@link dev.athanor.ops.cost.Machine}, so that families are comparable.
 */
final class MatmulPlanner {

  private MatmulPlanner() {}

  /** Returns the plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(MatmulProblem problem, Capability device) {
    return plans(problem, Map.of("c", problem.output()), device);
  }

  /**
   * Returns the plans that the device can run, the cheapest first.
   *
   * @param outputs which may have the rows of c in leading dimensions
   */
  static List<LaunchPlan> plans(
      MatmulProblem problem, Map<String, TensorType> outputs, Capability device) {
    var candidates = new Candidates("product of " + problem.dtype().text(), device);
    var computed = problem.withRowsTogether();
    if (GemvProblem.fits(computed)) {
      GemvPlanner.offer(GemvProblem.of(computed), device, candidates);
    }
    SimtPlanner.offer(computed, device, candidates);
    if (!SimtPlanner.isTiny(computed)) {
      TensorPlanner.offer(computed, device, candidates);
      return candidates.plans(outputs, problem.cost());
    }
    if (!SimtPlanner.usesTensorCores(computed, device)) {
      return candidates.plans(outputs, problem.cost());
    }
    // a tiny product leaves most of a tile empty, but has the order of products of more rows
    var tiles = new Candidates("product of " + problem.dtype().text(), device);
    TensorPlanner.offer(computed, device, tiles);
    return Stream.of(candidates, tiles)
        .flatMap(each -> each.plans(outputs, problem.cost()).stream())
        .toList();
  }
}
