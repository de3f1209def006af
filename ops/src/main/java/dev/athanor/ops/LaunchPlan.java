package dev.athanor.ops;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A plan that consists of a sequence of launches.
 *
 * @param kernel the name of the variant, which is that of the dominant step
 * @param order what determines the bits of a row
 * @param steps in launch order; each sees the writes of earlier steps
 * @param update the output of which the steps write only a part
 */
public record LaunchPlan(
    String kernel,
    String order,
    Map<String, TensorType> outputs,
    List<Step> steps,
    Optional<Update> update,
    long workspaceBytes,
    Cost cost,
    String explain)
    implements Plan {

  public LaunchPlan {
    outputs = Map.copyOf(outputs);
    steps = List.copyOf(steps);
  }

  /** Creates a plan with an order of its own, whose steps write all outputs. */
  public LaunchPlan(
      String kernel,
      Map<String, TensorType> outputs,
      List<Step> steps,
      long workspaceBytes,
      Cost cost,
      String explain) {
    this(kernel, kernel, outputs, steps, Optional.empty(), workspaceBytes, cost, explain);
  }

  /**
   * Returns a plan without launches, for outputs of no elements, or for an output that is left as
   * the input that it updates.
   */
  public static LaunchPlan empty(Map<String, TensorType> outputs) {
    return new LaunchPlan(
        "empty", outputs, List.of(), 0, new Cost(0, 0), "empty: there is nothing to compute");
  }

  /** Returns this plan for an output that its steps change in part. */
  public LaunchPlan updating(String input, String output) {
    return new LaunchPlan(
        kernel,
        order,
        outputs,
        steps,
        Optional.of(new Update(input, output)),
        workspaceBytes,
        cost,
        explain);
  }

  @Override
  public List<Kernel> kernels() {
    return steps.stream().map(Step::variant).distinct().map(Variant::build).toList();
  }

  @Override
  public int requiredSharedMemory() {
    return steps.stream()
        .mapToInt(step -> step.sharedBytes() + step.variant().build().staticSharedBytes())
        .max()
        .orElse(0);
  }

  @Override
  public void load(KernelCache kernels) {
    steps.forEach(step -> kernels.get(step.variant()));
  }

  @Override
  public boolean isLoaded(KernelCache kernels) {
    return steps.stream().allMatch(step -> kernels.holds(step.variant()));
  }

  @Override
  public void enqueue(KernelCache kernels, Stream stream, Bindings bindings) {
    update.ifPresent(changed -> {
      var from = bindings.input(changed.input());
      var to = bindings.output(changed.output());
      if (!from.equals(to)) {
        stream.copy(from.buffer(), from.offset(), to.buffer(), to.offset(), to.type().bytes());
      }
    });
    for (var step : steps) {
      stream.launch(step.launch(kernels, bindings));
    }
  }
}
