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
import dev.athanor.ops.reference.CompensatedSum;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import dev.athanor.ops.row.RowKernel;
import dev.athanor.ops.row.RowPlanner;
import dev.athanor.ops.row.RowShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;

/**
 * The cross-entropy of logits and labels, and its gradient, with the formulas of PyTorch's {@code
 * CrossEntropyLoss} for class indices: ignored labels and label smoothing. Losses are per row.
 */
public final class CrossEntropy implements SampledOp {

  /** The dtypes of numbers that each row has one of: f32, or f64 for f64 logits. */
  private static final Set<DType> OF_ROWS = Set.of(DType.F64, DType.F32);

  private static final String OF_ROW = "f32, or f64 if x is f64";

  /** Registers per element of f64, as for softmax. */
  private static final int REGISTERS_OF_DOUBLE = 4;

  private final boolean backward;
  private final OpDescription description;

  /** Creates the op of the losses or of the gradient. */
  public CrossEntropy(boolean backward) {
    this.backward = backward;
    var inputs = new ArrayList<Input>();
    inputs.add(new Input("x", "[…, N]", RowShape.DTYPES, false, "the logits of N classes"));
    inputs.add(
        new Input(
            "target",
            "[…]",
            Set.of(DType.I64, DType.I32),
            false,
            "the label of each row: the index of its class. A row whose label is neither an index"
                + " nor ignoreIndex becomes NaN"));
    if (backward) {
      inputs.add(ofRow("lse", "the log-sum-exp returned by cross-entropy"));
      inputs.add(
          ofRow("grad", "the gradient with respect to loss; for the mean of M rows, 1/M each"));
    }
    description =
        new OpDescription(
            backward ? "cross-entropy-backward" : "cross-entropy",
            backward
                ? "Computes the gradient of cross-entropy with respect to the logits."
                : "Computes the cross-entropy of each row of logits and its label.",
            inputs,
            List.of(
                Attribute.integer(
                    "ignoreIndex",
                    -100,
                    backward
                        ? "label of rows without gradient"
                        : "label of rows whose loss is 0; exclude them from a mean"),
                Attribute.number(
                        "smoothing",
                        0,
                        "label smoothing ε: the target distribution is 1 - ε at the label plus ε/N"
                            + " everywhere")
                    .from(0, 1)),
            backward
                ? List.of(Output.of("dx", "[…, N]", "same as x", "the gradient with respect to x"))
                : List.of(
                    Output.of("loss", "[…]", OF_ROW, "the loss of each row"),
                    Output.of("lse", "[…]", OF_ROW, "log Σ exp(x), for cross-entropy-backward")),
            backward
                ? "dx[j] = grad · (exp(x[j] - lse) - (1 - smoothing)·[j = target] - smoothing/N)"
                : "lse = m + log Σ exp(x - m), where m is the maximum of x; loss = (1 - smoothing) ·"
                    + " (lse - x[target]) + smoothing · (lse - mean(x))",
            (backward ? 6 : 5) + "·N per row");
  }

  private static Input ofRow(String name, String meaning) {
    return new Input(name, "[…]", OF_ROWS, false, meaning).like("x", DType.F32);
  }

  @Override
  public OpDescription description() {
    return description;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var bound = BoundInputs.of(description, inputs, attributes);
    var x = bound.type("x");
    if (backward) {
      return Map.of("dx", x);
    }
    var type =
        new TensorType(
            x.dtype() == DType.F64 ? DType.F64 : DType.F32, bound.type("target").shape());
    return Map.of("loss", type, "lse", type);
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var outputs = outputs(inputs, attributes);
    var x = RowShape.of(inputs, "x");
    var labels = RowShape.input(inputs, "target").dtype();
    double smoothing = attributes.number("smoothing");
    var common =
        Arguments.ofInputs("x", "target")
            .with("ignored", attributes.integer("ignoreIndex"))
            .with("scale", x.scalar(x.dtype() == DType.F64 ? 1 : 1 / Math.log(2)));
    var function =
        backward
            ? new CrossEntropyBackwardFunction(labels)
            : new CrossEntropyFunction(labels, smoothing > 0);
    var arguments =
        backward
            ? common
                .inputs("lse", "grad")
                .outputs("dx")
                .with("hot", x.scalar(1 - smoothing))
                .with("cold", x.scalar(smoothing / x.n()))
            : smoothing > 0
                ? common.outputs("loss", "lse").with("smoothing", x.scalar(smoothing))
                : common.outputs("loss", "lse");
    return RowPlanner.of(x, x.dtype() == DType.F64 ? REGISTERS_OF_DOUBLE : 1)
        .plans(
            "%s of %s".formatted(description.name(), x.dtype().text()),
            capability,
            tile -> RowPlanner.Launches.of(new RowKernel(function, x.dtype(), tile), x, arguments),
            outputs,
            Plan.Cost.of((backward ? 6.0 : 5.0) * x.tensor().shape().elements(), inputs, outputs));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var shape = RowShape.of(HostTensor.types(inputs), "x");
    var row = new Reference(inputs, attributes, shape.n());
    return backward
        ? Map.of(
            "dx",
            ReferenceOutput.ofRows(
                shape.rows(),
                shape.n(),
                row.gradient(TensorReader.of(inputs, "lse"), TensorReader.of(inputs, "grad"))))
        : Map.of(
            "loss", ReferenceOutput.ofElements(shape.rows(), row::loss),
            "lse", ReferenceOutput.ofElements(shape.rows(), row::lse));
  }

  /** The results in float64. */
  private static final class Reference {
    private final TensorReader x;
    private final HostTensor target;
    private final long ignored;
    private final double smoothing;
    private final int n;

    Reference(Map<String, HostTensor> inputs, Attributes attributes, int n) {
      this.n = n;
      x = TensorReader.of(inputs, "x");
      target = Objects.requireNonNull(inputs.get("target"));
      ignored = attributes.integer("ignoreIndex");
      smoothing = attributes.number("smoothing");
    }

    private long label(long row) {
      return target.type().dtype().readLong(target.data(), row);
    }

    double lse(long row) {
      var values = x.get(row * n, n);
      double most = Double.NEGATIVE_INFINITY;
      for (double value : values) {
        most = Math.max(most, value);
      }
      double base = most;
      return base == Double.NEGATIVE_INFINITY
          ? base
          : base + Math.log(CompensatedSum.of(n, j -> Math.exp(values[(int) j] - base)));
    }

    double loss(long row) {
      long label = label(row);
      if (label == ignored) {
        return 0;
      }
      if (label < 0 || label >= n) {
        return Double.NaN;
      }
      double lse = lse(row);
      double ofLabel = lse - x.get(row * n + label);
      if (smoothing == 0) {
        return ofLabel;
      }
      var values = x.get(row * n, n);
      double mean = CompensatedSum.of(n, j -> values[(int) j]) / n;
      return (1 - smoothing) * ofLabel + smoothing * (lse - mean);
    }

    LongFunction<double[]> gradient(TensorReader lses, TensorReader grads) {
      return row -> {
        long label = label(row);
        if (label == ignored) {
          return new double[n];
        }
        double grad = label < 0 || label >= n ? Double.NaN : grads.get(row);
        var values = x.get(row * n, n);
        for (int j = 0; j < n; j++) {
          double less = Math.exp(values[j] - lses.get(row)) - smoothing / n;
          values[j] = grad * (j == label ? less - (1 - smoothing) : less);
        }
        return values;
      };
    }
  }

  /** Draws labels that exist, and for the gradient a log-sum-exp of the usual size. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    return CrossEntropyCases.draw(inputs, draw);
  }

  /** The error of 16-bit gradients is one rounding, and that of f32 arithmetic. */
  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return switch (dtype) {
      case F64 -> Tolerance.maximum(1e-13);
      case F32 -> Tolerance.maximum(1e-5);
      default -> Tolerance.roundings(1.1, dtype);
    };
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return new CrossEntropyCases(this, backward, random, quick).all();
  }
}
