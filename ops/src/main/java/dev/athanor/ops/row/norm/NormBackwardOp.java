package dev.athanor.ops.row.norm;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongToDoubleFunction;
import java.util.random.RandomGenerator;

/** The gradients of a normalization of rows. */
public final class NormBackwardOp implements SampledOp {

  /** Maximum number of blocks per multiprocessor: more teams mean more partial sums. */
  private static final int BLOCKS = 2;

  /** Minimum number of rows per team. */
  private static final int ROWS_OF_TEAM = 4;

  private final Norm norm;
  private final OpDescription description;

  public NormBackwardOp(Norm norm) {
    this.norm = norm;
    var gamma = norm.weights(RowShape.SINGLE).getFirst();
    var outputs = new ArrayList<Output>();
    outputs.add(Output.of("dx", "[…, N]", "same as x", "the gradient with respect to x"));
    outputs.add(
        Output.of(
            "dgamma",
            "[N]",
            "same as gamma",
            "the gradient with respect to gamma, also if gamma is omitted"));
    if (norm.shifts()) {
      outputs.add(Output.of("dbeta", "[N]", "same as gamma", "the gradient with respect to beta"));
    }
    description =
        new OpDescription(
            norm.text() + "-backward",
            "Computes the gradients of %s, summed in a deterministic order.".formatted(norm.text()),
            List.of(
                new Input(
                        "grad", "[…, N]", RowShape.SINGLE, false, "the gradient with respect to y")
                    .like("x"),
                new Input(
                    "x",
                    "[…, N]",
                    RowShape.SINGLE,
                    false,
                    "the input of %s; %s".formatted(norm.text(), norm.range())),
                gamma),
            List.of(norm.epsilon()),
            outputs,
            norm.shifts()
                ? "h = (x - mean(x)) · s, s = 1 / √(variance(x) + epsilon), g = grad · gamma; dx = s · (g - mean(g) - h · mean(g · h)), dgamma = Σ grad · h, dbeta = Σ grad over all rows"
                : "h = x · s, s = 1 / √(mean(x²) + epsilon), g = grad · gamma; dx = s · (g - h · mean(g · h)), dgamma = Σ grad · h over all rows",
            norm.shifts() ? "17·N per row" : "11·N per row");
  }

  @Override
  public OpDescription description() {
    return description;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return BoundInputs.of(description, inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = BoundInputs.of(description, inputs, attributes);
    var x = RowShape.of(inputs, "x");
    var outputs = call.outputs();
    var function = new NormBackwardFunction(norm, call.has("gamma"));
    var weights = Objects.requireNonNull(outputs.get("dgamma")).dtype();
    var sums = norm.shifts() ? List.of("dgamma", "dbeta") : List.of("dgamma");
    int access = x.access(x.n());
    return new RowPlanner(x.rows(), x.n() / access, access, 4 * access)
        .plans(
            "%s of %s".formatted(description.name(), x.dtype().text()),
            capability,
            tile -> {
              var kernel = new RowKernel(function, x.dtype(), weights, tile);
              int blocks =
                  Math.min(
                      Math.ceilDiv(x.rows(), ROWS_OF_TEAM * tile.rows()),
                      BLOCKS * capability.multiprocessors());
              int teams = Math.min(blocks * tile.rows(), x.rows());
              long bytes = (long) teams * x.n() * Float.BYTES;
              var given = call.has("gamma") ? Arguments.ofInputs("gamma") : Arguments.NONE;
              var arguments =
                  given
                      .inputs("grad", "x")
                      .outputs("dx")
                      .with("epsilon", (float) attributes.number("epsilon"));
              for (int i = 0; i < sums.size(); i++) {
                arguments = arguments.with(sums.get(i), new Slot.Workspace(i * bytes));
              }
              var steps = new ArrayList<Step>();
              steps.add(RowPlanner.step(kernel, x, blocks, arguments));
              for (int i = 0; i < sums.size(); i++) {
                steps.add(
                    new Step(
                        new ColumnSums(weights),
                        Dim3.of(Math.ceilDiv(x.n(), ColumnSums.COLUMNS)),
                        ColumnSums.THREADS,
                        0,
                        Arguments.NONE
                            .with("rows", teams)
                            .with("n", x.n())
                            .with("in", new Slot.Workspace(i * bytes))
                            .with("out", Slot.output(sums.get(i)))));
              }
              return new RowPlanner.Launches(steps, sums.size() * bytes);
            },
            outputs,
            Plan.Cost.of(
                (norm.shifts() ? 17.0 : 11.0) * x.tensor().shape().elements(), inputs, outputs));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var backward =
        new Backward(
            TensorReader.of(inputs, "grad"),
            TensorReader.of(inputs, "x"),
            RowShape.of(HostTensor.types(inputs), "x").n(),
            TensorReader.of(inputs, "gamma", 1),
            attributes.number("epsilon"));
    var outputs = new LinkedHashMap<String, ReferenceOutput>();
    outputs.put("dx", ReferenceOutput.ofRows(backward.rows, backward.n, backward::dx));
    outputs.put("dgamma", new ReferenceOutput(backward.n, backward::dgamma));
    if (norm.shifts()) {
      outputs.put("dbeta", new ReferenceOutput(backward.n, backward::dbeta));
    }
    return outputs;
  }

  /** The gradients in float64. */
  private final class Backward {
    private final TensorReader grad;
    private final TensorReader x;
    private final LongToDoubleFunction gamma;
    private final double epsilon;
    private final int n;
    private final int rows;

    Backward(TensorReader grad, TensorReader x, int n, LongToDoubleFunction gamma, double epsilon) {
      this.grad = grad;
      this.x = x;
      this.gamma = gamma;
      this.epsilon = epsilon;
      this.n = n;
      rows = (int) (x.elements() / n);
    }

    double[] dx(long row) {
      var values = x.get(row * n, n);
      var statistics = norm.reference(values, epsilon);
      double meanOfG = 0;
      double meanOfGh = 0;
      for (int j = 0; j < n; j++) {
        double g = grad.get(row * n + j) * gamma.applyAsDouble(j);
        meanOfG += norm.shifts() ? g / n : 0;
        meanOfGh += g * statistics.apply(values[j]) / n;
      }
      for (int j = 0; j < n; j++) {
        double g = grad.get(row * n + j) * gamma.applyAsDouble(j);
        values[j] = statistics.scale() * (g - meanOfG - statistics.apply(values[j]) * meanOfGh);
      }
      return values;
    }

    double[] dgamma(long[] columns) {
      var sums = new double[columns.length];
      for (long row = 0; row < rows; row++) {
        var values = x.get(row * n, n);
        var statistics = norm.reference(values, epsilon);
        for (int i = 0; i < columns.length; i++) {
          sums[i] += grad.get(row * n + columns[i]) * statistics.apply(values[(int) columns[i]]);
        }
      }
      return sums;
    }

    double[] dbeta(long[] columns) {
      var sums = new double[columns.length];
      for (long row = 0; row < rows; row++) {
        for (int i = 0; i < columns.length; i++) {
          sums[i] += grad.get(row * n + columns[i]);
        }
      }
      return sums;
    }
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return NormCases.backward(this, norm, random, quick);
  }
}
