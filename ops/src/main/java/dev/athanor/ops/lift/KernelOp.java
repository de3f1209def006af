package dev.athanor.ops.lift;

import static java.util.stream.Collectors.joining;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.problem.ShapeBinding;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/**
 * An op whose kernels are static Java methods with {@code @GpuKernel}. It runs as one launch or
 * several in order, without bounds checks.
 */
public final class KernelOp implements Op {

  /**
   * The maximum length of an array; index plus a small literal could silently overflow an int in
   * longer ones.
   */
  private static final long MAX_ELEMENTS = (1L << 31) - (1L << 20);

  private final KernelDefinition definition;
  private final OpDescription description;

  KernelOp(KernelDefinition definition) {
    this.definition = definition;
    description = definition.description();
  }

  /**
   * Begins the description of an op.
   *
   * @param name in lower case with hyphens, such as {@code row-sum}
   */
  public static KernelOpBuilder named(String name) {
    return new KernelOpBuilder(name);
  }

  @Override
  public OpDescription description() {
    return description;
  }

  /** The dtype, shapes and sizes of a call. */
  private record Call(DType dtype, ShapeBinding shapes, Sizes sizes) {}

  private Call call(Map<String, TensorType> inputs, Attributes attributes) {
    var dtype = dtype(inputs);
    var shapes = new ShapeBinding();
    for (var input : definition.inputs()) {
      if (!input.isOptional() || inputs.containsKey(input.name())) {
        input.shape().bind(input.name(), type(inputs, input.name()), shapes);
      }
    }
    return new Call(dtype, shapes, Sizes.of(shapes, definition.sizes(), attributes, dtype));
  }

  private static TensorType type(Map<String, TensorType> types, String name) {
    return Objects.requireNonNull(types.get(name), name);
  }

  /** Returns the dtype of the inputs without a dtype of their own, which selects the kernel. */
  private DType dtype(Map<String, TensorType> inputs) {
    var generic =
        definition.inputs().stream()
            .filter(each -> each.own().isEmpty())
            .filter(each -> !each.isOptional() || inputs.containsKey(each.name()))
            .toList();
    if (generic.isEmpty()) {
      return definition.firstDType();
    }
    var first = generic.getFirst().name();
    for (var other : generic) {
      Checks.sameDType(first, type(inputs, first), other.name(), type(inputs, other.name()));
    }
    return type(inputs, first).dtype();
  }

  /**
   * Returns the types of the outputs.
   *
   * @throws OpException if the inputs do not match
   */
  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    boolean requiresElements = inputs.values().stream().noneMatch(TensorType::isEmpty);
    return types(definition.outputs(), call(inputs, attributes), requiresElements ? 1 : 0);
  }

  /**
   * Returns the types of the temporary tensors.
   *
   * @throws OpException if the inputs do not match
   */
  Map<String, TensorType> temporaries(Map<String, TensorType> inputs, Attributes attributes) {
    return types(definition.temporaries(), call(inputs, attributes), 1);
  }

  private Map<String, TensorType> types(
      List<KernelArgument.Tensor> tensors, Call call, long least) {
    var types = new LinkedHashMap<String, TensorType>();
    for (var tensor : tensors) {
      var shape =
          tensor
              .shape()
              .shape(call.shapes, name -> call.sizes.atLeast(least, name, definition.name()));
      var type = tensor.dtype(call.dtype);
      types.put(tensor.name(), Checks.type(tensor.text(), tensor.name(), type, shape));
    }
    return types;
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability device) {
    var call = call(inputs, attributes);
    var outputs = types(definition.outputs(), call, 1);
    var temporaries = types(definition.temporaries(), call, 1);
    inputs.forEach((name, type) -> checkLength("input", name, type));
    outputs.forEach((name, type) -> checkLength("output", name, type));
    temporaries.forEach((name, type) -> checkLength("temporary", name, type));
    var cost = Plan.Cost.of(definition.flops().applyAsDouble(call.sizes), inputs, outputs);
    var launches =
        new KernelSteps(definition, call.dtype, call.sizes, inputs, outputs, temporaries);
    var steps = launches.all();
    double bytes = cost.bytes() + 2.0 * launches.workspaceBytes();
    var candidates = new Candidates(definition.name(), device);
    candidates.offer(
        steps.stream().map(step -> step.variant().name()).collect(joining("_")),
        Machine.of(device).streaming(steps.size(), bytes),
        steps.stream()
            .map(step -> "%s blocks of %s threads".formatted(step.grid(), step.block()))
            .collect(joining(", then ")),
        steps,
        launches.workspaceBytes());
    var plans = candidates.plans(outputs, cost);
    return definition
        .update()
        .map(changed ->
            plans.stream().map(plan -> plan.updating(changed.input(), changed.output())).toList())
        .orElse(plans);
  }

  @Override
  public boolean mayReplace(String input) {
    return definition.update().filter(changed -> changed.input().equals(input)).isPresent();
  }

  private static void checkLength(String kind, String name, TensorType type) {
    if (type.shape().elements() > MAX_ELEMENTS) {
      throw new OpException.TooLarge(
          name,
          "%s \"%s\" has shape %s; kernels in Java take at most %d elements"
              .formatted(kind, name, type.shape(), MAX_ELEMENTS));
    }
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    var sizes = call(HostTensor.types(inputs), attributes).sizes;
    var elements = new LinkedHashMap<String, double[]>();
    for (var input : definition.inputs()) {
      var tensor = inputs.get(input.name());
      if (tensor != null) {
        elements.put(input.name(), tensor.toDoubles());
      }
    }
    return definition.reference().compute(sizes, new ReferenceInputs(elements));
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var sizes = call(inputs, attributes).sizes;
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) -> {
      var own = definition.drawings().get(name);
      drawn.put(name, own == null ? draw.usual(type) : own.draw(draw, type, sizes));
    });
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return definition.tolerance().orElseGet(() -> Tolerance.usual(dtype));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return new KernelCases(this, definition, random).all(quick);
  }
}
