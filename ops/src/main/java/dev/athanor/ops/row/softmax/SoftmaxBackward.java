package dev.athanor.ops.row.softmax;

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
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.row.RowCases;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * The gradient of {@link Softmax}, from its output, as PyTorch's {@code _softmax_backward_data}.
 */
public final class SoftmaxBackward implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "softmax-backward",
          "Computes the gradient of softmax from its output.",
          List.of(
              new Input("grad", "[…, N]", RowShape.DTYPES, false, "the gradient with respect to y")
                  .like("y"),
              new Input(
                  "y",
                  "[…, N]",
                  RowShape.DTYPES,
                  false,
                  "the output of softmax; 0 for masked elements, also with causal")),
          List.of(Attribute.number("scale", 1, "the scale passed to softmax").from(1e-30, 1e30)),
          List.of(Output.of("dx", "[…, N]", "same as y", "the gradient with respect to x")),
          "dx = scale · y · (grad - Σ grad · y), summed over each row",
          "5·N per row");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var outputs = outputs(inputs, attributes);
    var y = RowShape.of(inputs, "y");
    var arguments =
        Arguments.ofInputs("grad", "y")
            .outputs("dx")
            .with("scale", y.scalar(attributes.number("scale")));
    return RowPlanner.of(y, y.dtype() == DType.F64 ? 4 : 2)
        .plans(
            "%s of %s".formatted(DESCRIPTION.name(), y.dtype().text()),
            capability,
            tile ->
                RowPlanner.Launches.of(
                    new RowKernel(new SoftmaxBackwardFunction(), y.dtype(), tile), y, arguments),
            outputs,
            Plan.Cost.of(5.0 * y.tensor().shape().elements(), inputs, outputs));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var shape = RowShape.of(HostTensor.types(inputs), "y");
    var grad = TensorReader.of(inputs, "grad");
    var y = TensorReader.of(inputs, "y");
    int n = shape.n();
    double scale = attributes.number("scale");
    return Map.of(
        "dx",
        ReferenceOutput.ofRows(
            shape.rows(),
            n,
            row -> {
              var dx = y.get(row * n, n);
              var g = grad.get(row * n, n);
              double sum = 0;
              for (int j = 0; j < n; j++) {
                sum += g[j] * dx[j];
              }
              for (int j = 0; j < n; j++) {
                dx[j] *= scale * (g[j] - sum);
              }
              return dx;
            }));
  }

  /** Draws numbers of the size of probabilities. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new HashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(name, name.equals("y") ? probabilities(draw, type) : draw.usual(type)));
    return drawn;
  }

  private static HostTensor probabilities(Draw draw, TensorType type) {
    return draw.uniform(0, 2.0 / Math.max(1, type.shape().extent(-1)), type);
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return switch (dtype) {
      case F64 -> Tolerance.relative(1e-13);
      case F32 -> Tolerance.relative(2e-6);
      default -> Tolerance.usual(dtype);
    };
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    for (var dtypes : List.of(RowCases.DTYPES, List.of(DType.F64))) {
      cases.addAll(
          RowCases.sizes(
              quick,
              dtypes,
              (number, dtype, rows, n) ->
                  made(random, dtype, rows, n)
                      .attribute("scale", number % 3 == 0 ? 1 : 0.125)
                      .within(Map.of("dx", tolerance("dx", dtype, Map.of(), none())))));
    }
    // a NaN makes its row NaN
    var y = probabilities(new Draw(random), TensorType.of(DType.F32, 3, 40));
    DType.F32.write(y.data(), 50, Double.NaN);
    cases.add(
        made(random, DType.F32, 3, 40)
            .input("y", y)
            .within(Map.of("dx", tolerance("dx", DType.F32, Map.of(), none()))));
    return cases;
  }

  private static Attributes none() {
    return Attributes.of(DESCRIPTION, Map.of());
  }

  private RowCases.Builder made(RandomGenerator random, DType dtype, int rows, int n) {
    var type = TensorType.of(dtype, rows, n);
    return new RowCases.Builder(this, random)
        .input("y", probabilities(new Draw(random), type))
        .normal("grad", dtype, rows, n);
  }
}
