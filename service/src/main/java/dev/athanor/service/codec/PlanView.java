package dev.athanor.service.codec;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.legal.Legalizer;
import dev.athanor.ops.Plan;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The JSON view of a launch plan.
 *
 * @param problem the planned inputs and attributes
 * @param explanation the candidates, and why each was rejected or chosen
 * @param sources the Java lines that generated the PTX
 */
public record PlanView(
    String op,
    String device,
    String problem,
    String kernel,
    String explanation,
    List<KernelView> kernels,
    List<SourceView> sources) {

  /**
   * Returns the view of a plan.
   *
   * @param device the device that runs the plan
   * @param target the target of the machine code; null for none
   */
  public static PlanView of(
      String op, Capability device, String problem, Plan plan, @Nullable Target target) {
    return new PlanView(
        op,
        device.id(),
        problem,
        plan.kernel(),
        plan.explain(),
        plan.kernels().stream()
            .map(kernel -> KernelView.of(Legalizer.legalize(kernel, device.target()), target))
            .toList(),
        SourceView.of(plan.kernels()));
  }
}
