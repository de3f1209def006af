package dev.athanor.ops.map;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import java.util.List;
import java.util.Map;

/**
 * Plans the launches that compute a result element by element.
 *
 * @param op name of the op, for messages
 * @param loops over the result, with the strides of the inputs
 * @param inputs the names of the operands in memory
 * @param in the dtype of the operands
 * @param last the dtype of the last operand in memory
 * @param output type of the output {@code y}
 * @param conversion the conversion of results to elements of the output
 * @param constants the argument of the scalar operand, if there is one
 */
record ElementwisePlanner(
    String op,
    Formula formula,
    Loops loops,
    List<String> inputs,
    DType in,
    DType last,
    TensorType output,
    Conversion conversion,
    Arguments constants) {

  ElementwisePlanner {
    inputs = List.copyOf(inputs);
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
    var candidates = new Candidates("%s of %s".formatted(op, in.text()), capability);
    Checks.requireLaunches("y", output.text() + " as output \"y\"", loops.elements() / most);
    var steps =
        new ElementwiseSteps(
                op,
                formula,
                loops,
                inputs.stream().map(Slot::input).toList(),
                in,
                last,
                new Slot.Output("y", 0),
                output.dtype(),
                conversion,
                constants)
            .steps(most);
    var first = (ElementwiseVariant) steps.getFirst().variant();
    candidates.offer(
        first.name(),
        op, // each element has its own thread
        Machine.of(capability).streaming(steps.size(), cost.bytes()),
        "%d elements, %d per access".formatted(output.shape().elements(), first.vector()),
        steps,
        0);
    return candidates.plans(Map.of("y", output), cost);
  }
}
