package dev.athanor.service.codec;

import dev.athanor.ops.Plan;
import java.util.List;

/**
 * The JSON view of a launch plan.
 *
 * @param problem the planned inputs and attributes
 * @param explanation the candidates, and why each was rejected or chosen
 */
public record PlanView(
    String op,
    String device,
    String problem,
    String kernel,
    String explanation,
    List<KernelView> kernels) {

  public static PlanView of(String op, String device, String problem, Plan plan) {
    return new PlanView(
        op,
        device,
        problem,
        plan.kernel(),
        plan.explain(),
        plan.kernels().stream().map(KernelView::of).toList());
  }
}
