package dev.athanor.service.run;

import dev.athanor.engine.device.Device;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.tune.Planner;
import dev.athanor.service.metrics.Metrics;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** A device, and what is known and kept for it alone: memory, plans, kernels. */
public final class Place implements AutoCloseable {

  private record PlanKey(String op, Map<String, TensorType> inputs, Attributes attributes) {}

  private final Device device;
  private final DeviceMemory memory;
  private final Planner planner;
  private final KernelCache kernels;
  private final Metrics metrics;
  private final Graphs graphs;
  private final Map<PlanKey, Plan> plans;

  /**
   * A device.
   *
   * @param settings how many plans and graphs are kept, those used last
   */
  public Place(
      Device device,
      DeviceMemory memory,
      Planner planner,
      KernelCache kernels,
      Metrics metrics,
      RunSettings settings) {
    this.device = device;
    this.memory = memory;
    this.planner = planner;
    this.kernels = kernels;
    this.metrics = metrics;
    graphs = new Graphs(device, memory, kernels, settings.graphs(device.capability()));
    plans =
        Collections.synchronizedMap(
            new LinkedHashMap<>(16, 0.75f, true) {
              @Override
              protected boolean removeEldestEntry(Map.Entry<PlanKey, Plan> eldest) {
                return size() > settings.plans();
              }
            });
  }

  public Device device() {
    return device;
  }

  public DeviceMemory memory() {
    return memory;
  }

  public KernelCache kernels() {
    return kernels;
  }

  /** Pipelines that have come before. */
  Graphs graphs() {
    return graphs;
  }

  public Metrics metrics() {
    return metrics;
  }

  /** The place of the device among those of the service. */
  public int number() {
    return memory.number();
  }

  /** The id of the device. */
  public String id() {
    return memory.id();
  }

  /**
   * How a problem is computed here, with its kernels loaded, so that no stream waits for a
   * compiler.
   *
   * @param onPlan is told of a problem that is planned anew
   */
  Plan plan(
      Op op, Map<String, TensorType> inputs, Attributes attributes, Consumer<Problem> onPlan) {
    var plan =
        plans.computeIfAbsent(
            new PlanKey(op.description().name(), Map.copyOf(inputs), attributes),
            _ -> {
              var problem = new Problem(op, inputs, attributes);
              var chosen = planner.plan(problem);
              onPlan.accept(problem);
              return chosen;
            });
    plan.load(kernels);
    return plan;
  }

  /** The best plan of a problem. */
  Plan plan(Problem problem) {
    return planner.plan(problem);
  }

  /** The plan of a problem that has the kernel of this name; the best where none is named. */
  Optional<Plan> plan(Problem problem, @Nullable String kernel) {
    return planner.plans(problem).stream()
        .filter(plan -> kernel == null || plan.kernel().equals(kernel))
        .findFirst();
  }

  /** Has all problems planned anew, since there is a winner that was not known. */
  public void forgetPlans() {
    plans.clear();
    graphs.forget();
  }

  /** What to do, besides giving up graphs, with a number of bytes before they are refused. */
  void onShortage(LongConsumer action) {
    memory.onShortage(bytes -> {
      graphs.makeRoom();
      action.accept(bytes);
    });
  }

  @Override
  public void close() {
    graphs.close();
    memory.close();
    device.close();
  }
}
