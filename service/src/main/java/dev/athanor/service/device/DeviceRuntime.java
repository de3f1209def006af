package dev.athanor.service.device;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.DeviceException;
import dev.athanor.engine.device.LruCache;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.Op;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Layout;
import dev.athanor.ops.move.PackedPlan;
import dev.athanor.ops.tune.Planner;
import dev.athanor.service.metrics.Metrics;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A device with its memory, plan cache, kernel cache and metrics. */
public final class DeviceRuntime implements AutoCloseable {

  private record PlanKey(
      String op,
      Map<String, TensorType> inputs,
      Attributes attributes,
      Map<String, Layout> layouts,
      boolean rowInvariant) {}

  private static final Logger LOG = LoggerFactory.getLogger(DeviceRuntime.class);

  private final Device device;
  private final DeviceMemory memory;
  private final Planner planner;
  private final KernelCache kernels;
  private final Metrics metrics;
  private final List<DeviceCache> caches = new CopyOnWriteArrayList<>();
  private final LruCache<PlanKey, Plan> plans;

  /**
   * Creates the runtime of a device.
   *
   * @param settings defines the size of the plan cache
   */
  public DeviceRuntime(
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
    plans = new LruCache<>(settings.planCacheSize());
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

  /** Adds a cache, which shrinks when memory runs short and closes with this runtime. */
  public void attach(DeviceCache cache) {
    caches.add(cache);
  }

  public Metrics metrics() {
    return metrics;
  }

  /** Returns the number of the device, its index in {@link DeviceRuntimes#all()}. */
  public int number() {
    return memory.number();
  }

  /** Returns the id of the device. */
  public String id() {
    return memory.id();
  }

  /**
   * Plans a problem and loads its kernels, so that streams never wait for compilation.
   *
   * @param layouts the layouts of inputs that are not dense
   * @param rowInvariant whether the plan's results for a row must not depend on the number of rows
   * @param onPlan called with each problem that is planned for the first time
   * @throws dev.athanor.service.failure.Failure if the device reports a fault
   */
  public Plan plan(
      Op op,
      Map<String, TensorType> inputs,
      Attributes attributes,
      Map<String, Layout> layouts,
      boolean rowInvariant,
      Consumer<Problem> onPlan) {
    var key =
        new PlanKey(op.description().name(), Map.copyOf(inputs), attributes, layouts, rowInvariant);
    var known = plans.find(key);
    try {
      return known != null && known.isLoaded(kernels)
          ? load(known)
          : memory
              .threads()
              .call(() ->
                  load(
                      plans.get(
                          key,
                          _ ->
                              plan(
                                  new Problem(op, inputs, attributes),
                                  layouts,
                                  rowInvariant,
                                  onPlan))));
    } catch (DeviceException e) {
      throw memory.explain(e);
    }
  }

  private Plan load(Plan plan) {
    plan.load(kernels);
    return plan;
  }

  private Plan plan(
      Problem problem,
      Map<String, Layout> layouts,
      boolean rowInvariant,
      Consumer<Problem> onPlan) {
    Plan chosen;
    if (rowInvariant) {
      chosen = problem.rowInvariantPlans(device.capability()).getFirst();
    } else {
      chosen = planner.plan(problem);
      onPlan.accept(problem);
    }
    return layouts.isEmpty()
        ? chosen
        : new PackedPlan(chosen, problem.inputs(), layouts, device.capability());
  }

  /** Plans a problem with the fastest kernel. */
  public Plan plan(Problem problem) {
    return planner.plan(problem);
  }

  /**
   * Plans a problem with the kernel of this name, or with the fastest kernel if the name is null.
   */
  public Optional<Plan> plan(Problem problem, @Nullable String kernel) {
    return planner.plans(problem).stream()
        .filter(plan -> kernel == null || plan.kernel().equals(kernel))
        .findFirst();
  }

  /** Clears the plan cache and all other caches, after tuning has found a faster kernel. */
  public void forgetPlans() {
    plans.clear();
    caches.forEach(DeviceCache::forget);
  }

  /**
   * Sets the action that releases memory after the caches have shrunk and before an allocation
   * fails.
   */
  void onShortage(LongConsumer action) {
    memory.onShortage(bytes -> {
      caches.forEach(DeviceCache::evictIdle);
      action.accept(bytes);
    });
  }

  /** Closes the device, unless it is busy: closing a busy device could crash the process. */
  @Override
  public void close() {
    if (memory.isBusy()) {
      LOG.warn("Device {} is still busy and is not closed", id());
      return;
    }
    caches.forEach(DeviceCache::close);
    memory.close();
    device.close();
  }
}
