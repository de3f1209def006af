package dev.athanor.ops.expression;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseSteps;
import dev.athanor.ops.map.Loops;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Plans the launches of an expression.
 *
 * @param op name of the op, for messages
 * @param names of the operands
 * @param shapes of the operands
 * @param output type of the output {@code y}
 */
record MapPlanner(
    String op, Expression expression, List<String> names, List<Shape> shapes, TensorType output) {

  private static final int ACCESS_BYTES = 16;

  /** Bytes of operands that a thread loads before it computes, so that registers suffice. */
  private static final int BYTES_IN_FLIGHT = 64;

  /** Approximate maximum number of instructions of a kernel with several elements per thread. */
  private static final int MAX_INSTRUCTIONS = 1024;

  MapPlanner {
    names = List.copyOf(names);
    shapes = List.copyOf(shapes);
  }

  /** Returns the type in which floats of a dtype are computed. */
  static Type computed(DType dtype) {
    return dtype == DType.F64 ? Type.F64 : Type.F32;
  }

  List<LaunchPlan> plans(Plan.Cost cost, Capability capability) {
    return plans(cost, capability, ElementwiseSteps.MOST);
  }

  /**
   * Returns the plans.
   *
   * @param most maximum number of elements per launch, a multiple of 16
   */
  List<LaunchPlan> plans(Plan.Cost cost, Capability capability, long most) {
    Checks.requireLaunches(
        "y", output.text() + " as output \"y\"", output.shape().elements() / most);
    var steps = new ArrayList<Step>();
    for (var part : Loops.broadcast(output.shape(), shapes).parts(most)) {
      steps.add(step(part));
    }
    var candidates = new Candidates(op, capability);
    var first = (MapVariant) steps.getFirst().variant();
    candidates.offer(
        first.name(),
        op, // each element has its own thread
        Machine.of(capability).streaming(steps.size(), cost.bytes()),
        "%d elements, %d per access, y = %s"
            .formatted(output.shape().elements(), first.vector(), expression.text()),
        steps,
        0);
    return candidates.plans(Map.of("y", output), cost);
  }

  private Step step(Loops.Part part) {
    var program = expression.program();
    var inner = part.loops().inner();
    var variant = variant(part, inner.strides().stream().map(stride -> stride == 1).toList());
    var arguments = part.arguments(variant.vector(), this::stride);
    for (int o = 0; o < names.size(); o++) {
      long start = part.starts().get(o) * program.inputs().get(o).bytes();
      arguments = arguments.with("x" + o, new Slot.Input(names.get(o), start));
    }
    for (var literal : program.literals()) {
      arguments =
          arguments.with(
              "c" + literal.index(),
              slot(literal.dtype(), expression.literals().get(literal.index())));
    }
    var y = new Slot.Output("y", part.first() * output.dtype().bytes());
    return new Step(
        variant,
        Dim3.of(variant.blocks(part.elements())),
        MapVariant.THREADS,
        0,
        arguments.with("y", y));
  }

  private static Slot slot(DType dtype, ScalarValue value) {
    return switch (dtype) {
      case F64 -> Slot.of(value.toReal());
      case F32, F16, BF16 -> Slot.of((float) value.toReal());
      case I64 -> Slot.of(value.whole());
      default -> Slot.of((int) value.whole());
    };
  }

  private int stride(long stride) {
    if (stride > Integer.MAX_VALUE) {
      throw new OpException.TooLarge(
          names.getFirst(),
          "%s needs a stride of %d elements; the maximum is 2^31 - 1".formatted(op, stride));
    }
    return (int) stride;
  }

  private MapVariant variant(Loops.Part part, List<Boolean> along) {
    var program = expression.program();
    int widest = output.dtype().bytes();
    int bytes = 0;
    for (int o = 0; o < along.size(); o++) {
      if (along.get(o)) {
        widest = Math.max(widest, program.inputs().get(o).bytes());
        bytes += program.inputs().get(o).bytes();
      }
    }
    int vector = part.vector(ACCESS_BYTES / widest);
    int depth = 2;
    while (vector * depth > 1
        && (vector * depth * program.instructions() > MAX_INSTRUCTIONS
            || vector * depth * bytes > BYTES_IN_FLIGHT)) {
      if (depth > 1) {
        depth = 1;
      } else {
        vector /= 2;
      }
    }
    return new MapVariant(program, part.loops().loops().size(), along, vector, depth);
  }
}
