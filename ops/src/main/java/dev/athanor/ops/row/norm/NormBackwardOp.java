package dev.athanor.ops.row.norm;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/** The gradients of a normalization of rows. */
public final class NormBackwardOp implements Op {

  /** Maximum number of blocks per multiprocessor: more teams mean more partial sums. */
  private static final int BLOCKS = 2;

  /** Minimum number of rows per team. */
  private static final int ROWS_OF_TEAM = 4;

  private final Norm norm;
  private final OpDescription description;

  public NormBackwardOp(Norm norm) {
    this.norm = norm;
    var gamma = norm.weights().getFirst();
    var outputs = new ArrayList<Output>();
    outputs.add(Output.of("dx", "[…, N]", "same as x", "the gradient with respect to x"));
    outputs.add(Output.of("dgamma", "[N]", "same as gamma", "the gradient with respect to gamma"));
    if (norm.shifts()) {
      outputs.add(Output.of("dbeta", "[N]", "same as gamma", "the gradient with respect to beta"));
    }
    description =
        new OpDescription(
            norm.text() + "-backward",
            "Computes the gradients of %s, summed in a deterministic order.".formatted(norm.text()),
            List.of(
                new Input(
                    "grad", "[…, N]", RowShape.DTYPES, false, "the gradient with respect to y"),
                new Input("x", "[…, N]", RowShape.DTYPES, false, "the input of " + norm.text()),
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
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = RowShape.of(inputs, "x");
    x.same(inputs, "grad");
    var weights = x.weights(inputs, "gamma");
    var outputs = new LinkedHashMap<>(Map.of("dx", x.tensor()));
    var sums = norm.shifts() ? List.of("dgamma", "dbeta") : List.of("dgamma");
    sums.forEach(name -> outputs.put(name, TensorType.of(weights, x.n())));
    int access = x.access(x.n());
    return new RowPlanner(x.rows(), x.n() / access, access, 4 * access)
        .plans(
            "%s of %s".formatted(description.name(), x.dtype().text()),
            capability,
            tile -> {
              var kernel = new RowKernel(new NormBackwardFunction(norm), x.dtype(), weights, tile);
              int blocks =
                  Math.min(
                      Math.ceilDiv(x.rows(), ROWS_OF_TEAM * tile.rows()),
                      BLOCKS * capability.multiprocessors());
              int teams = Math.min(blocks * tile.rows(), x.rows());
              long bytes = (long) teams * x.n() * Float.BYTES;
              var slots =
                  List.of(
                      Slot.input("grad"),
                      Slot.input("x"),
                      Slot.input("gamma"),
                      Slot.output("dx"),
                      new Slot.Workspace(0),
                      new Slot.Workspace(norm.shifts() ? bytes : 0),
                      Slot.of((float) attributes.number("epsilon")));
              var steps = new ArrayList<Step>();
              steps.add(RowPlanner.step(kernel, x, blocks, slots));
              for (int i = 0; i < sums.size(); i++) {
                steps.add(
                    new Step(
                        new ColumnSums(weights),
                        Dim3.of(Math.ceilDiv(x.n(), ColumnSums.COLUMNS)),
                        ColumnSums.THREADS,
                        0,
                        List.of(
                            Slot.of(teams),
                            Slot.of(x.n()),
                            new Slot.Workspace(i * bytes),
                            Slot.output(sums.get(i)))));
              }
              return new RowPlanner.Launches(steps, sums.size() * bytes);
            },
            outputs,
            Plan.Cost.of(
                (norm.shifts() ? 17.0 : 11.0) * x.tensor().shape().elements(), inputs, outputs));
  }

  @Override
  public Map<String, double[]> reference(Map<String, HostTensor> inputs, Attributes attributes) {
    var grad = Objects.requireNonNull(inputs.get("grad")).toDoubles();
    var x = Objects.requireNonNull(inputs.get("x")).toDoubles();
    var gamma = Objects.requireNonNull(inputs.get("gamma")).toDoubles();
    int n = gamma.length;
    var dx = new double[x.length];
    var dgamma = new double[n];
    var dbeta = new double[n];
    for (int first = 0; first < x.length; first += n) {
      var row = norm.reference(x, first, n, attributes.number("epsilon"));
      double meanOfG = 0;
      double meanOfGh = 0;
      for (int j = 0; j < n; j++) {
        double g = grad[first + j] * gamma[j];
        meanOfG += norm.shifts() ? g / n : 0;
        meanOfGh += g * row.h()[j] / n;
      }
      for (int j = 0; j < n; j++) {
        double g = grad[first + j] * gamma[j];
        dx[first + j] = row.scale() * (g - meanOfG - row.h()[j] * meanOfGh);
        dgamma[j] += grad[first + j] * row.h()[j];
        dbeta[j] += grad[first + j];
      }
    }
    return norm.shifts()
        ? Map.of("dx", dx, "dgamma", dgamma, "dbeta", dbeta)
        : Map.of("dx", dx, "dgamma", dgamma);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return NormCases.backward(this, norm, random, quick);
  }
}
