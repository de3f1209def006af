package dev.athanor.ops.row.norm;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import dev.athanor.ops.row.norm.NormFunction.Residual;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** A normalization of rows, with weights and an optional residual. */
public final class NormOp implements SampledOp {

  private final Norm norm;
  private final boolean residual;
  private final OpDescription description;

  public NormOp(Norm norm, boolean residual) {
    this.norm = norm;
    this.residual = residual;
    var inputs = new ArrayList<Input>();
    inputs.add(
        new Input(
            "x",
            "[…, N]",
            RowShape.DTYPES,
            false,
            "the input rows; " + norm.range() + "; those of f64 in f64"));
    if (residual) {
      inputs.add(new Input("residual", "[…, N]", RowShape.DTYPES, false, "the residual").like("x"));
    }
    inputs.addAll(norm.weights(RowShape.DTYPES));
    var attributes = new ArrayList<Attribute>();
    attributes.add(norm.epsilon());
    var outputs = new ArrayList<Output>();
    outputs.add(Output.of("y", "[…, N]", "same as x", "the result"));
    if (residual) {
      attributes.add(
          Attribute.choice(
              "order",
              "pre",
              List.of("pre", "post"),
              "whether the residual is added before (pre) or after (post) normalization"));
      outputs.add(
          Output.of("sum", "[…, N]", "same as x", "x + residual, if order is pre")
              .when("order", "pre"));
    }
    description =
        new OpDescription(
            (residual ? "residual-" : "") + norm.text(),
            residual
                ? "Adds a residual and applies %s to each row, in one kernel."
                    .formatted(norm.title())
                : "Applies %s to each row.".formatted(norm.title()),
            inputs,
            attributes,
            outputs,
            residual
                ? "order pre: sum = x + residual, y = norm(sum); order post: y = residual +"
                    + " norm(x); norm(v) = "
                    + norm.formula("v")
                : "y = " + norm.formula("x"),
            flops() + "·N per row");
  }

  @Override
  public OpDescription description() {
    return description;
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return RowShape.rows(inputs, residual ? Set.of("x", "residual") : Set.of("x"));
  }

  private int flops() {
    return norm.flops() + (residual ? 1 : 0);
  }

  private Residual residual(Attributes attributes) {
    if (!residual) {
      return Residual.NONE;
    }
    return attributes.choice("order").equals("pre") ? Residual.PRE : Residual.POST;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return BoundInputs.of(description, inputs, attributes).outputs();
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = BoundInputs.of(description, inputs, attributes);
    var x = RowShape.of(inputs, "x");
    var order = residual(attributes);
    var outputs = call.outputs();
    var function = new NormFunction(norm, order, call.has("gamma"), call.has("beta"));
    var arguments =
        Arguments.ofInputs(inputs.keySet().toArray(String[]::new))
            .outputs(outputs.keySet().toArray(String[]::new))
            .with("epsilon", x.scalar(attributes.number("epsilon")));
    var weights =
        Stream.of("gamma", "beta").filter(call::has).map(call::dtype).findFirst().orElse(x.dtype());
    return RowPlanner.of(x)
        .plans(
            "%s of %s".formatted(description.name(), x.dtype().text()),
            capability,
            tile ->
                RowPlanner.Launches.of(
                    new RowKernel(function, x.dtype(), weights, tile), x, arguments),
            outputs,
            Plan.Cost.of((double) flops() * x.tensor().shape().elements(), inputs, outputs));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var order = residual(attributes);
    var x = TensorReader.of(inputs, "x");
    var other = TensorReader.of(inputs, "residual", 0);
    var gamma = TensorReader.of(inputs, "gamma", 1);
    var beta = TensorReader.of(inputs, "beta", 0);
    int n = RowShape.of(HostTensor.types(inputs), "x").n();
    LongFunction<double[]> sum =
        row -> {
          var values = x.get(row * n, n);
          for (int j = 0; j < n && order == Residual.PRE; j++) {
            values[j] += other.applyAsDouble(row * n + j);
          }
          return values;
        };
    LongFunction<double[]> y =
        row -> {
          var values = sum.apply(row);
          var statistics = norm.reference(values, attributes.number("epsilon"));
          for (int j = 0; j < n; j++) {
            values[j] =
                statistics.apply(values[j]) * gamma.applyAsDouble(j)
                    + beta.applyAsDouble(j)
                    + (order == Residual.POST ? other.applyAsDouble(row * n + j) : 0);
          }
          return values;
        };
    long rows = x.elements() / n;
    var outputs = new LinkedHashMap<>(Map.of("y", ReferenceOutput.ofRows(rows, n, y)));
    if (order == Residual.PRE) {
      outputs.put("sum", ReferenceOutput.ofRows(rows, n, sum));
    }
    return outputs;
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return NormCases.of(this, norm, residual, random, quick);
  }
}
