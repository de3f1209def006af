package dev.athanor.service.codec;

import dev.athanor.ops.Plan;
import java.util.List;

/**
 * How an op will be computed.
 *
 * @param problem the inputs and attributes that it was planned for
 * @param explanation the candidates that were considered, and why each fell or won
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
