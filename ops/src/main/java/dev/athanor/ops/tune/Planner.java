package dev.athanor.ops.tune;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.run.ForwardingPlan;
import java.util.ArrayList;
import java.util.List;

/** Plans for a device: the winner of tuning where there is one, else what the op's model says. */
public final class Planner {

  private final Capability device;
  private final TuningCache tuned;

  public Planner(Capability device, TuningCache tuned) {
    this.device = device;
    this.tuned = tuned;
  }

  /** The plans of a problem, the one to take first. */
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

  /** The plan to take. */
  public Plan plan(Problem problem) {
    return plans(problem).getFirst();
  }

  /** A plan that tuning found to be the fastest. */
  private record Tuned(Plan plan, TuningCache.Winner winner) implements ForwardingPlan {

    @Override
    public String explain() {
      return "%s\ntuned %s: %.3g µs, the fastest for %s"
          .formatted(plan.explain(), winner.date(), winner.micros(), winner.key().bucket());
    }
  }
}
