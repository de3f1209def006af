package dev.athanor.ops.row.rope;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import dev.athanor.ops.row.RowTile;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/**
 * A checked rotary embedding.
 *
 * @param x rows, each with all heads of a position
 * @param norm the preceding norm, if any
 */
record RopeProblem(
    RowShape x, int headDim, boolean interleaved, Optional<Norm> norm, RopeTables tables) {

  /**
   * An RMS norm.
   *
   * @param weights dtype of its weights, if any
   */
  record Norm(Optional<DType> weights, double epsilon) {}

  List<LaunchPlan> plans(String op, Map<String, TensorType> inputs, Capability capability) {
    int rest = headDim - 2 * tables.half();
    // pairs of the half style are two runs, each aligned like the half; others are one run
    int access =
        interleaved ? x.access(headDim | 2 * tables.half()) : x.access(headDim | tables.half());
    var function =
        new RopeFunction(
            interleaved,
            norm.isPresent(),
            weights().isPresent(),
            rest > 0,
            tables.indexed(),
            tables.dtype());
    var outputs = Map.of("y", x.tensor());
    int pairs = function.pairs(access);
    long groups = (long) x.n() / headDim * (tables.half() / pairs);
    long flops = norm.isPresent() ? 4 : 0;
    double perRow = (double) flops * x.n() + 3.0 * x.n() / headDim * 2 * tables.half();
    return new RowPlanner(x.rows(), groups, access, 2 * pairs)
        .plans(
            op,
            capability,
            tile -> new RowPlanner.Launches(steps(function, tile), tables.workspaceBytes()),
            outputs,
            Plan.Cost.of(x.rows() * perRow, inputs, outputs));
  }

  private List<Step> steps(RopeFunction function, RowTile tile) {
    var arguments =
        Arguments.ofInputs("x")
            .outputs("y")
            .with("cos", tables.cos())
            .with("sin", tables.sin())
            .with("headDim", headDim)
            .with("half", tables.half())
            .with("tableRows", tables.rows())
            .with("period", tables.period())
            .with("epsilon", x.scalar(norm.map(Norm::epsilon).orElse(0.0)));
    arguments = weights().isPresent() ? arguments.inputs("weight") : arguments;
    arguments = tables.indexed() ? arguments.inputs("positions") : arguments;
    var kernel = new RowKernel(function, x.dtype(), weights().orElse(x.dtype()), tile);
    var steps = new ArrayList<>(tables.steps());
    steps.add(RowPlanner.step(kernel, x, arguments));
    return steps;
  }

  private Optional<DType> weights() {
    return norm.flatMap(Norm::weights);
  }

  /** Rotates the pairs of a row, in float64. */
  double[] rotate(double[] h, long row, Map<String, HostTensor> inputs) {
    var y = h.clone();
    int own = (int) (row % tables.period());
    int position =
        tables.positions() ? (int) Objects.requireNonNull(inputs.get("positions")).get(own) : own;
    for (int i = 0; i < tables.half(); i++) {
      double cos = cosineOrSine("cos", position, i, inputs);
      double sin = cosineOrSine("sin", position, i, inputs);
      for (int first = 0; first < h.length; first += headDim) {
        int one = first + (interleaved ? 2 * i : i);
        int two = interleaved ? one + 1 : one + tables.half();
        y[one] = h[one] * cos - h[two] * sin;
        y[two] = h[two] * cos + h[one] * sin;
      }
    }
    return y;
  }

  private double cosineOrSine(String name, int position, int i, Map<String, HostTensor> inputs) {
    if (tables.theta().isEmpty()) {
      return position < 0 || position >= tables.rows()
          ? Double.NaN
          : Objects.requireNonNull(inputs.get(name)).get((long) position * tables.half() + i);
    }
    double angle = position * Math.pow(tables.theta().get(), -(double) i / tables.half());
    return name.equals("cos") ? Math.cos(angle) : Math.sin(angle);
  }
}
