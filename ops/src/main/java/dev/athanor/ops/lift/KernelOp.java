package dev.athanor.ops.lift;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.JavaKernel;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.problem.ShapeBinding;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/**
 * An op whose kernel is a static Java method with {@code @GpuKernel}. It runs as one launch,
 * without bounds checks.
 */
public final class KernelOp implements Op {

  /**
   * The maximum length of an array; index plus a small literal could silently overflow an int in
   * longer ones.
   */
  private static final long MAX_ELEMENTS = (1L << 31) - (1L << 20);

  /** The address of an absent input, whose array has length 0. */
  private static final Slot ABSENT = Slot.of(0L);

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
    return outputs(call(inputs, attributes), requiresElements ? 1 : 0);
  }

  private Map<String, TensorType> outputs(Call call, long least) {
    var types = new LinkedHashMap<String, TensorType>();
    for (var output : definition.outputs()) {
      var shape =
          output
              .shape()
              .shape(call.shapes, name -> call.sizes.atLeast(least, name, definition.name()));
      types.put(output.name(), Checks.output(output.name(), output.dtype(call.dtype), shape));
    }
    return types;
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability device) {
    var call = call(inputs, attributes);
    var outputs = outputs(call, 1);
    inputs.forEach((name, type) -> checkLength("input", name, type));
    outputs.forEach((name, type) -> checkLength("output", name, type));
    var kernel = definition.kernel(call.dtype);
    var cost = Plan.Cost.of(definition.flops().applyAsDouble(call.sizes), inputs, outputs);
    var candidates = new Candidates(definition.name(), device);
    var grid = grid(kernel, call, outputs);
    var variant = new KernelVariant(kernel);
    candidates.offer(
        Machine.of(device).streaming(1, cost.bytes()),
        "%s blocks of %s threads".formatted(grid, definition.block(kernel)),
        new Step(
            variant,
            grid,
            definition.block(kernel),
            sharedBytes(call),
            Arguments.inOrder(variant.build(), slots(kernel, call, inputs, outputs))));
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

  private Dim3 grid(JavaKernel kernel, Call call, Map<String, TensorType> outputs) {
    var names = definition.grid();
    if (names.isEmpty()) {
      var first = definition.outputs().getFirst().name();
      long elements = type(outputs, first).shape().elements();
      return Dim3.of((int) Math.ceilDiv(elements, definition.block(kernel).count()));
    }
    return new Dim3(blocks(0, call), blocks(1, call), blocks(2, call));
  }

  private int blocks(int dimension, Call call) {
    if (dimension >= definition.grid().size()) {
      return 1;
    }
    var name = definition.grid().get(dimension);
    long blocks = call.sizes.atLeast(1, name, definition.name());
    if (blocks > Integer.MAX_VALUE) {
      throw new OpException.TooLarge(
          name, "%s is %d; a grid has at most 2^31 - 1 blocks".formatted(name, blocks));
    }
    return (int) blocks;
  }

  private int sharedBytes(Call call) {
    long bytes = definition.sharedBytes().map(each -> each.applyAsLong(call.sizes)).orElse(0L);
    return Math.clamp(bytes, 0, Integer.MAX_VALUE);
  }

  /**
   * Returns the arguments of the method, followed by the lengths of arrays and the bytes of
   * segments.
   */
  private List<Slot> slots(
      JavaKernel kernel,
      Call call,
      Map<String, TensorType> inputs,
      Map<String, TensorType> outputs) {
    var slots = new ArrayList<Slot>();
    var lengths = new ArrayList<Slot>();
    var types = kernel.method().getParameterTypes();
    for (int i = 0; i < types.length; i++) {
      switch (definition.arguments().get(i)) {
        case KernelArgument.Tensor tensor -> {
          var name = tensor.name();
          var type = (tensor.isOutput() ? outputs : inputs).get(name);
          slots.add(
              type == null ? ABSENT : tensor.isOutput() ? Slot.output(name) : Slot.input(name));
          lengths.add(
              types[i] == MemorySegment.class
                  ? Slot.of(type == null ? 0 : type.bytes())
                  : Slot.of(type == null ? 0 : (int) type.shape().elements()));
        }
        case KernelArgument.Scalar scalar -> slots.add(scalar.slot(types[i], call.sizes));
      }
    }
    slots.addAll(lengths);
    return slots;
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
