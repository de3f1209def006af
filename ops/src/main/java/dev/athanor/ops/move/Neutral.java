package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Plans results of inputs without elements, such as a sum of no numbers. The usual kernels compute
 * them from neutral elements, such as one zero, in place of each extent of 0. A bias, scales and an
 * activation thus need no kernels of their own, and the op's reference defines the result.
 */
public final class Neutral {

  private final Map<String, Long> offsets = new HashMap<>();
  private final List<Step> steps = new ArrayList<>();
  private long end;

  private Neutral(long workspaceBytes) {
    end = workspaceBytes;
  }

  /**
   * Returns the plans of an op.
   *
   * @param inputs inputs of which some have no elements
   * @param value the element that changes no output that has elements
   */
  public static List<LaunchPlan> plans(
      Op op,
      Map<String, TensorType> inputs,
      Attributes attributes,
      double value,
      Capability capability) {
    long extent =
        inputs.values().stream().mapToInt(type -> type.dtype().blockElements()).max().orElse(1);
    var filled = new TreeMap<String, TensorType>();
    inputs.forEach((name, type) -> {
      if (type.isEmpty()) {
        filled.put(name, new TensorType(type.dtype(), filled(type.shape(), extent)));
      }
    });
    return plans(new Problem(op, inputs, attributes), filled, value, capability);
  }

  private static Shape filled(Shape shape, long extent) {
    return new Shape(shape.extents().stream().map(each -> each == 0 ? extent : each).toList());
  }

  private static List<LaunchPlan> plans(
      Problem problem, Map<String, TensorType> filled, double value, Capability capability) {
    var inputs = new HashMap<>(problem.inputs());
    inputs.putAll(filled);
    var outputs = problem.op().outputs(problem.inputs(), problem.attributes());
    var plans = new ArrayList<LaunchPlan>();
    for (var plan : problem.op().plans(inputs, problem.attributes(), capability)) {
      if (plan instanceof LaunchPlan launches) {
        plans.add(
            new Neutral(plan.workspaceBytes()).plan(launches, filled, outputs, value, capability));
      }
    }
    return plans;
  }

  private LaunchPlan plan(
      LaunchPlan plan,
      Map<String, TensorType> filled,
      Map<String, TensorType> outputs,
      double value,
      Capability capability) {
    filled.forEach((name, type) -> fill(name, type, value, capability));
    plan.outputs()
        .forEach((name, type) -> {
          if (!type.equals(outputs.get(name))) {
            reserve(name, type);
          }
        });
    plan.steps().forEach(this::add);
    return new LaunchPlan(
        plan.kernel(),
        outputs,
        steps,
        end,
        plan.cost(),
        "inputs without elements are replaced by %s\n%s".formatted(value, plan.explain()));
  }

  private long reserve(String name, TensorType type) {
    long offset = Math.ceilDiv(end, Layout.ALIGNMENT) * Layout.ALIGNMENT;
    offsets.put(name, offset);
    end = Math.addExact(offset, type.bytes());
    return offset;
  }

  private void fill(String name, TensorType type, double value, Capability capability) {
    reserve(name, type);
    // blocks of zero bytes are zeros
    var dense = type.dtype().isBlock() ? TensorType.of(DType.U8, type.bytes()) : type;
    var constant = CopyPlanner.constant(dense.dtype(), name, value);
    var ranges = dense.shape().extents().stream().map(Region.Range::all).toList();
    var region = Region.of(constant, dense.shape(), name, dense.shape(), ranges);
    new CopyPlanner("fill", Map.of(), Map.of(name, dense), List.of(region))
        .plans(capability)
        .getFirst()
        .steps()
        .forEach(this::add);
  }

  private void add(Step step) {
    steps.add(step.map(this::slot));
  }

  /** Returns the place of an input or output that is in the workspace. */
  private Slot slot(Slot slot) {
    return switch (slot) {
      case Slot.Input(var name, var offset) when offsets.containsKey(name) ->
          workspace(name, offset);
      case Slot.Output(var name, var offset) when offsets.containsKey(name) ->
          workspace(name, offset);
      default -> slot;
    };
  }

  private Slot workspace(String name, long offset) {
    return new Slot.Workspace(Objects.requireNonNull(offsets.get(name), name) + offset);
  }
}
