package dev.athanor.ops.map;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.AttributeType;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * The gradients of a gated linear unit.
 *
 * @param activation returns the activation of the gate for the attributes of a call
 * @param flops floating-point operations per element
 */
record GateBackwardOp(
    OpDescription description, Function<Attributes, Activation> activation, int flops)
    implements SampledOp {

  /** The relative error of a 16-bit result: one rounding, and the error of f32 arithmetic. */
  private static final double ABOUT_HALF = 0.505;

  @Override
  public boolean mayReplace(String input) {
    return true;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return BoundInputs.of(description, inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var bound = BoundInputs.of(description, inputs, attributes);
    var type = bound.type("gate");
    var function = new GateBackwardFunction(activation.apply(attributes), type.dtype());
    long elements = type.shape().elements();
    var cost = Plan.Cost.of((double) flops * elements, inputs, bound.outputs());
    return new Candidates("%s of %s".formatted(description.name(), type.dtype().text()), capability)
        .offer(
            Machine.of(capability).streaming(1, cost.bytes()),
            "%d elements".formatted(elements),
            new FusedVariant(function)
                .step(
                    "gate", type, Arguments.ofInputs("grad", "gate", "up").outputs("dgate", "dup")))
        .plans(bound.outputs(), cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var grad = TensorReader.of(inputs, "grad");
    var gate = TensorReader.of(inputs, "gate");
    var up = TensorReader.of(inputs, "up");
    var function = activation.apply(attributes);
    long elements = gate.elements();
    return Map.of(
        "dgate",
        ReferenceOutput.ofElements(
            elements, i -> grad.get(i) * up.get(i) * function.derivative(gate.get(i))),
        "dup",
        ReferenceOutput.ofElements(elements, i -> grad.get(i) * function.apply(gate.get(i))));
  }

  /** Near its roots, a derivative has the absolute error of f32 arithmetic. */
  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.maximum(dtype == DType.F32 ? 4e-6 : ABOUT_HALF * dtype.spacing(1));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var shapes =
        quick ? List.of("7", "100,10") : List.of("1", "7", "13", "5,131", "1000", "4099", "");
    var attributes = new ArrayList<String>();
    for (var attribute : description.attributes()) {
      if (attribute.type() == AttributeType.CHOICE) {
        attribute
            .choices()
            .forEach(each -> attributes.add(" %s=%s".formatted(attribute.name(), each)));
      }
    }
    var cases = new ArrayList<Case>();
    for (var attribute : attributes.isEmpty() ? List.of("") : attributes) {
      for (var dtype : List.of(DType.F32, DType.F16, DType.BF16)) {
        for (var shape : shapes) {
          var type = "%s[%s]".formatted(dtype.text(), shape);
          var text = "grad=%s gate=%s up=%s%s".formatted(type, type, type, attribute);
          var problem = Problem.parse(this, text);
          var tolerance = tolerance("dup", dtype, problem.inputs(), problem.attributes());
          cases.add(
              new Case(
                  problem.draw(random),
                  problem.attributes(),
                  Map.of("dgate", tolerance, "dup", tolerance)));
        }
      }
    }
    return cases;
  }
}
