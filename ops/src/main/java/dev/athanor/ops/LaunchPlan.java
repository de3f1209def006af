package dev.athanor.ops;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import java.util.List;
import java.util.Map;

/**
 * A plan that is a list of launches.
 *
 * @param kernel the name of the variant, which is that of the step that does the most
 * @param steps in the order in which they are launched; each sees what those before it wrote
 */
public record LaunchPlan(
    String kernel,
    Map<String, TensorType> outputs,
    List<Step> steps,
    long workspaceBytes,
    Cost cost,
    String explain)
    implements Plan {

  public LaunchPlan {
    outputs = Map.copyOf(outputs);
    steps = List.copyOf(steps);
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
    for (var step : steps) {
      stream.launch(step.launch(kernels, bindings));
    }
  }
}
