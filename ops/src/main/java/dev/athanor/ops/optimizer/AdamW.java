package dev.athanor.ops.optimizer;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.map.FusedVariant;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * A step of AdamW, Adam with decoupled weight decay (Loshchilov and Hutter, <a
 * href="https://arxiv.org/abs/1711.05101">arXiv:1711.05101</a>), with the formula and the defaults
 * of PyTorch's {@code torch.optim.AdamW}.
 */
public final class AdamW implements SampledOp {

  /** The greatest decay rate: with 1, a moment would ignore all gradients. */
  private static final double MAX_BETA = 0.999999;

  private static final double FLOPS = 14;

  private static final Set<DType> MOMENTS = Set.of(DType.F64, DType.F32);

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "adamw",
          "Updates parameters by a step of AdamW; the outputs may replace the inputs.",
          List.of(
              new Input("x", "[…]", ElementwiseOps.FLOATS, false, "the parameters"),
              new Input("grad", "[…]", ElementwiseOps.FLOATS, false, "the gradients")
                  .like("x", DType.F32),
              moment("m", "the first moment: a running mean of gradients, initially 0"),
              moment("v", "the second moment: a running mean of their squares, initially 0"),
              new Input("clip", "[]", MOMENTS, true, "factor of all gradients, to clip their norm")
                  .like("x", DType.F32)),
          List.of(
              Attribute.integer("step", "number of this step, from 1")
                  .from(1, Integer.MAX_VALUE)
                  .asRequired(),
              Attribute.number("learningRate", 1e-3, "step size").from(0, 1e6),
              Attribute.number("beta1", 0.9, "decay rate of m").from(0, MAX_BETA),
              Attribute.number("beta2", 0.999, "decay rate of v").from(0, MAX_BETA),
              Attribute.number("epsilon", 1e-8, "added to the divisor").from(0, 1e6),
              Attribute.number("weightDecay", 1e-2, "decay of x, times learningRate").from(0, 1e6)),
          List.of(
              Output.of("y", "[…]", "same as x", "the updated parameters"),
              Output.of("nextM", "[…]", "same as m", "the updated first moment"),
              Output.of("nextV", "[…]", "same as v", "the updated second moment")),
          "g = clip · grad; nextM = beta1·m + (1 - beta1)·g; nextV = beta2·v + (1 - beta2)·g²; y ="
              + " x·(1 - learningRate·weightDecay) - learningRate · nextM / (1 - beta1^step) /"
              + " (√(nextV / (1 - beta2^step)) + epsilon)",
          "14 per element");

  private static Input moment(String name, String meaning) {
    return new Input(name, "[…]", MOMENTS, false, meaning).like("x", DType.F32);
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public boolean mayReplace(String input) {
    return !input.equals("clip");
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
  }

  /** Returns the factors that are the same for all elements. */
  static Map<String, Double> numbers(Attributes attributes) {
    double step = attributes.number("step");
    double rate = attributes.number("learningRate");
    double beta1 = attributes.number("beta1");
    double beta2 = attributes.number("beta2");
    return Map.of(
        "keep",
        1 - rate * attributes.number("weightDecay"),
        "gain1",
        1 - beta1,
        "beta2",
        beta2,
        "gain2",
        1 - beta2,
        "root",
        1 / Math.sqrt(1 - Math.pow(beta2, step)),
        "epsilon",
        attributes.number("epsilon"),
        "rate",
        rate / (1 - Math.pow(beta1, step)));
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var bound = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var x = bound.type("x");
    var function = new AdamWFunction(x.dtype(), bound.dtype("grad"), bound.has("clip"));
    long elements = x.shape().elements();
    var arguments =
        (bound.has("clip") ? Arguments.ofInputs("clip") : Arguments.NONE)
            .inputs("x", "grad", "m", "v")
            .outputs("y", "nextM", "nextV");
    for (var number : numbers(attributes).entrySet()) {
      arguments =
          x.dtype() == DType.F64
              ? arguments.with(number.getKey(), number.getValue())
              : arguments.with(number.getKey(), number.getValue().floatValue());
    }
    var outputs = bound.outputs();
    var cost = Plan.Cost.of(FLOPS * elements, inputs, outputs);
    return new Candidates("adamw of " + x.dtype().text(), capability)
        .offer(
            Machine.of(capability).streaming(1, cost.bytes()),
            "%d elements".formatted(elements),
            new FusedVariant(function).step("x", x, arguments))
        .plans(outputs, cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    double rate = attributes.number("learningRate");
    double beta1 = attributes.number("beta1");
    double beta2 = attributes.number("beta2");
    double unbiased1 = 1 - Math.pow(beta1, attributes.number("step"));
    double unbiased2 = 1 - Math.pow(beta2, attributes.number("step"));
    var x = TensorReader.of(inputs, "x");
    var grad = TensorReader.of(inputs, "grad");
    var m = TensorReader.of(inputs, "m");
    var v = TensorReader.of(inputs, "v");
    double clip = TensorReader.of(inputs, "clip", 1).applyAsDouble(0);
    var nextM =
        ReferenceOutput.ofElements(
            x.elements(), i -> beta1 * m.get(i) + (1 - beta1) * clip * grad.get(i));
    var nextV =
        ReferenceOutput.ofElements(
            x.elements(), i -> beta2 * v.get(i) + (1 - beta2) * Math.pow(clip * grad.get(i), 2));
    var y =
        ReferenceOutput.ofElements(
            x.elements(),
            i -> {
              double mean = nextM.at(i)[0] / unbiased1;
              double root = Math.sqrt(nextV.at(i)[0] / unbiased2);
              double kept = x.get(i) * (1 - rate * attributes.number("weightDecay"));
              return kept - rate * mean / (root + attributes.number("epsilon"));
            });
    return Map.of("y", y, "nextM", nextM, "nextV", nextV);
  }

  /** Draws second moments and a factor that are not negative. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new HashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name,
            name.equals("v") || name.equals("clip") ? draw.uniform(0, 1, type) : draw.usual(type)));
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return switch (dtype) {
      case F64 -> Tolerance.maximum(1e-14);
      case F32 -> Tolerance.maximum(1e-6);
      default -> Tolerance.roundings(1.1, dtype);
    };
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var shapes = quick ? List.of("7", "1000") : List.of("1", "2", "7", "4,33", "1000", "2049", "");
    var cases = new ArrayList<Case>();
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16, DType.F64)) {
      for (var shape : shapes) {
        var x = dtype.text();
        var moment = dtype == DType.F64 ? "f64" : "f32";
        // every other case: gradients of f32, a factor, later steps
        boolean odd = cases.size() % 2 == 1;
        var text =
            "x=%s[S] grad=%s[S] m=%s[S] v=%s[S]".formatted(x, odd ? moment : x, moment, moment)
                + (odd
                    ? " clip=%s[] step=1000 beta1=0.8 weightDecay=0".formatted(moment)
                    : " step=1")
                + (cases.size() % 3 == 0 ? " learningRate=0.1 epsilon=0.001 beta2=0.95" : "");
        cases.add(make(random, text.replace("[S]", "[" + shape + "]"), cases.size() % 4 == 0));
      }
    }
    return cases;
  }

  /**
   * @param initial whether the moments are 0
   */
  private Case make(RandomGenerator random, String text, boolean initial) {
    var problem = Problem.parse(this, text);
    var inputs = new HashMap<>(problem.draw(random));
    if (initial) {
      for (var name : List.of("m", "v")) {
        inputs.computeIfPresent(name, (_, drawn) -> HostTensor.zeros(drawn.type()));
      }
    }
    var tolerances =
        outputs(problem.inputs(), problem.attributes()).entrySet().stream()
            .collect(
                Collectors.toMap(
                    Map.Entry::getKey,
                    output ->
                        tolerance(
                            output.getKey(),
                            output.getValue().dtype(),
                            problem.inputs(),
                            problem.attributes())));
    return new Case(inputs, problem.attributes(), tolerances);
  }
}
