package dev.athanor.ops.map;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Plans the launches that compute a result element by element.
 *
 * @param op name of the op, for messages
 * @param loops over the result, with the strides of the inputs
 * @param inputs the names of the operands in memory
 * @param in the dtype of the operands
 * @param output type of the output {@code y}
 * @param conversion the conversion of results to elements of the output
 * @param constants the argument of the scalar operand, if there is one
 */
public record ElementwisePlanner(
    String op,
    Formula formula,
    Loops loops,
    List<String> inputs,
    DType in,
    TensorType output,
    Conversion conversion,
    List<Slot> constants) {

  /** Maximum number of elements per launch, so that 32-bit indices suffice. */
  public static final long MOST = 1L << 30;

  public ElementwisePlanner {
    inputs = List.copyOf(inputs);
    constants = List.copyOf(constants);
  }

  public List<LaunchPlan> plans(Plan.Cost cost, Capability capability) {
    return plans(cost, capability, MOST);
  }

  /**
   * Returns the plans.
   *
   * @param most maximum number of elements per launch, a multiple of 16
   */
  public List<LaunchPlan> plans(Plan.Cost cost, Capability capability, long most) {
    var candidates = new Candidates("%s of %s".formatted(op, in.text()), capability);
    Checks.requireLaunches("y", output.text() + " as output \"y\"", loops.elements() / most);
    var steps = new ArrayList<Step>();
    for (var part : loops.parts(most)) {
      steps.add(step(part));
    }
    var first = (ElementwiseVariant) steps.getFirst().variant();
    if (candidates.runs(Target.SM_80, first.name())) {
      candidates.offer(
          first.name(),
          Machine.of(capability).streaming(steps.size(), cost.bytes()),
          "%d elements, %d per access".formatted(output.shape().elements(), first.vector()),
          steps,
          0);
    }
    return candidates.plans(Map.of("y", output), cost);
  }

  private Step step(Loops.Part part) {
    var all = part.loops().loops();
    var inner = part.loops().inner();
    var variant =
        new ElementwiseVariant(
            formula,
            !constants.isEmpty(),
            in,
            output.dtype(),
            conversion,
            all.size(),
            inner.strides().stream().map(stride -> stride == 1).toList(),
            vector(part));
    var slots = new ArrayList<Slot>();
    for (int o = 0; o < inputs.size(); o++) {
      slots.add(new Slot.Input(inputs.get(o), part.starts().get(o) * in.bytes()));
    }
    slots.add(new Slot.Output("y", part.first() * output.dtype().bytes()));
    slots.addAll(constants);
    long elements = part.loops().elements();
    slots.add(Slot.of((int) elements));
    for (int l = 1; l < all.size(); l++) {
      long count = all.get(l).count();
      slots.add(Slot.of((int) (l == all.size() - 1 ? count / variant.vector() : count)));
    }
    for (var loop : all.subList(0, all.size() - 1)) {
      for (long stride : loop.strides()) {
        slots.add(Slot.of(stride(stride)));
      }
    }
    return new Step(
        variant, Dim3.of(variant.blocks(elements)), ElementwiseVariant.THREADS, 0, slots);
  }

  private int stride(long stride) {
    if (stride > Integer.MAX_VALUE) {
      throw new OpException.TooLarge(
          inputs.getFirst(),
          "%s needs a stride of %d elements; the maximum is 2^31 - 1".formatted(op, stride));
    }
    return (int) stride;
  }

  /** Returns the widest vector, in elements, to which every row of a part is aligned. */
  private int vector(Loops.Part part) {
    var inner = part.loops().inner();
    // a single loop computes the remainder one by one; with several, the vector divides the inner
    long steps = part.first() | (part.loops().rank() == 1 ? 0 : inner.count());
    for (int o = 0; o < inputs.size(); o++) {
      steps |= inner.strides().get(o) == 1 ? part.starts().get(o) : 0;
    }
    int widest = ElementwiseVariant.widest(in, output.dtype());
    return (int) Long.lowestOneBit(steps | widest);
  }
}
