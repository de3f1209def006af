package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Stream;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.ops.Bindings;
import dev.athanor.ops.DeviceTensor;
import dev.athanor.ops.KernelCache;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.map.Loops.Loop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * A plan with inputs that are not dense: it first copies them to dense tensors in its workspace.
 * {@link #enqueue} expects the {@linkplain Layout#range memory} of these inputs.
 */
public final class PackedPlan implements Plan {

  /**
   * The copy of an input.
   *
   * @param offset of the dense tensor in the workspace
   */
  private record Copy(TensorType range, TensorType dense, LaunchPlan plan, long offset) {}

  private final Plan plan;
  private final Map<String, Copy> copies = new TreeMap<>();
  private final List<Plan> parts = new ArrayList<>();
  private final long workspaceBytes;

  /**
   * Creates a plan.
   *
   * @param plan a plan for dense inputs
   * @param inputs the types of its inputs
   * @param layouts the layouts of inputs that are not dense
   */
  public PackedPlan(
      Plan plan,
      Map<String, TensorType> inputs,
      Map<String, Layout> layouts,
      Capability capability) {
    this.plan = plan;
    long end = plan.workspaceBytes();
    for (var each : new TreeMap<>(layouts).entrySet()) {
      var name = each.getKey();
      var dense = Objects.requireNonNull(inputs.get(name), name);
      if (dense.isEmpty()) {
        continue;
      }
      long offset = Layout.aligned(end);
      copies.put(name, copy(name, dense, each.getValue(), offset, capability));
      end = Math.addExact(offset, dense.bytes());
    }
    workspaceBytes = end;
    copies.values().forEach(copy -> parts.add(copy.plan));
    parts.add(plan);
  }

  private static Copy copy(
      String name, TensorType dense, Layout layout, long offset, Capability capability) {
    var shape = dense.shape();
    var strides = Region.strides(shape);
    var loops = new ArrayList<Loop>();
    for (int i = 0; i < shape.rank(); i++) {
      long stride = shape.extent(i) == 1 ? 0 : layout.strides().get(i);
      loops.add(new Loop(shape.extent(i), List.of(stride, strides[i])));
    }
    var range = layout.range(dense.dtype(), shape);
    var region = new Region(Slot.input(name), layout.first(), "y", 0, loops);
    var plan =
        new CopyPlanner("view", Map.of(name, range), Map.of("y", dense), List.of(region))
            .plans(capability)
            .getFirst();
    return new Copy(range, dense, plan, offset);
  }

  @Override
  public String kernel() {
    return parts.stream().map(Plan::kernel).collect(Collectors.joining(", "));
  }

  @Override
  public String order() {
    return plan.order();
  }

  @Override
  public Map<String, TensorType> outputs() {
    return plan.outputs();
  }

  @Override
  public long workspaceBytes() {
    return workspaceBytes;
  }

  @Override
  public List<Kernel> kernels() {
    return parts.stream().flatMap(part -> part.kernels().stream()).distinct().toList();
  }

  @Override
  public int requiredSharedMemory() {
    return parts.stream().mapToInt(Plan::requiredSharedMemory).max().orElse(0);
  }

  @Override
  public Optional<Update> update() {
    return plan.update();
  }

  @Override
  public long packedBytes() {
    return copies.values().stream().mapToLong(copy -> copy.dense.bytes()).sum();
  }

  @Override
  public Cost cost() {
    double bytes = parts.stream().mapToDouble(part -> part.cost().bytes()).sum();
    return new Cost(plan.cost().flops(), bytes);
  }

  @Override
  public String explain() {
    var text = new StringBuilder();
    copies.forEach((name, copy) ->
        text.append(
            "%s is a view, which %s copies to a dense tensor of %d bytes\n"
                .formatted(name, copy.plan.kernel(), copy.dense.bytes())));
    return text.append(plan.explain()).toString();
  }

  @Override
  public void load(KernelCache kernels) {
    parts.forEach(part -> part.load(kernels));
  }

  @Override
  public boolean isLoaded(KernelCache kernels) {
    return parts.stream().allMatch(part -> part.isLoaded(kernels));
  }

  @Override
  public void enqueue(KernelCache kernels, Stream stream, Bindings bindings) {
    var inputs = new HashMap<>(bindings.inputs());
    copies.forEach((name, copy) -> {
      var workspace = bindings.workspace().orElseThrow();
      var dense = new DeviceTensor(copy.dense, workspace, copy.offset);
      var from = Map.of(name, bindings.input(name));
      copy.plan.enqueue(kernels, stream, new Bindings(from, Map.of("y", dense), Optional.empty()));
      inputs.put(name, dense);
    });
    plan.enqueue(
        kernels,
        stream,
        new Bindings(inputs, bindings.outputs(), bindings.workspace(), bindings.mayReplace()));
  }
}
