package dev.athanor.ops;

import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import java.util.List;
import java.util.Map;

/**
 * A plan that consists of a sequence of launches.
 *
 * @param kernel the name of the variant, which is that of the dominant step
 * @param steps in launch order; each sees the writes of earlier steps
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
