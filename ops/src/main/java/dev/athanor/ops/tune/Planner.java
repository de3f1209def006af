package dev.athanor.ops.tune;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.bench.Units;
import dev.athanor.ops.run.ForwardingPlan;
import java.util.ArrayList;
import java.util.List;

/**
 * Plans problems for a device: a tuned winner comes first, then the order of the op's cost model.
 */
public final class Planner {

  private final Capability device;
  private final TuningCache tuned;

  public Planner(Capability device, TuningCache tuned) {
    this.device = device;
    this.tuned = tuned;
  }

  /** Returns the plans of a problem, the preferred one first. */
  public List<Plan> plans(Problem problem) {
    var plans = new ArrayList<Plan>(problem.plans(device));
    tuned
        .find(TuningKey.of(problem, device))
        .ifPresent(winner -> {
          for (int i = 0; i < plans.size(); i++) {
            if (plans.get(i).kernel().equals(winner.kernel())) {
              plans.addFirst(new Tuned(plans.remove(i), winner));
              break;
            }
          }
        });
    return plans;
  }

  /** Returns the preferred plan. */
  public Plan plan(Problem problem) {
    return plans(problem).getFirst();
  }

  /** The best plan found by tuning. */
  private record Tuned(Plan plan, TuningCache.Winner winner) implements ForwardingPlan {

    @Override
    public String explain() {
      return "%s\ntuned %s: %s, the best for %s"
          .formatted(
              plan.explain(), winner.date(), Units.time(winner.micros()), winner.key().bucket());
    }
  }
}
