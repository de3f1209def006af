package dev.athanor.service.codec;

import dev.athanor.engine.ptx.Target;
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
   * @param target the target of the machine code; null for none
   */
  public static PlanView of(
      String op, String device, String problem, Plan plan, @Nullable Target target) {
    return new PlanView(
        op,
        device,
        problem,
        plan.kernel(),
        plan.explain(),
        plan.kernels().stream().map(kernel -> KernelView.of(kernel, target)).toList(),
        SourceView.of(plan.kernels()));
  }
}
