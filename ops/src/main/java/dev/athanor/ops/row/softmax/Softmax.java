package dev.athanor.ops.row.softmax;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Step.Slot;
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
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** Softmax of rows, with and without dropout. */
public final class Softmax implements SampledOp {

  /** Registers per element of f64: the element, and what its exponential takes meanwhile. */
  private static final int REGISTERS_OF_DOUBLE = 4;

  private final boolean dropout;
  private final OpDescription description;

  /** Creates softmax, optionally with dropout by a mask. */
  public Softmax(boolean dropout) {
    this.dropout = dropout;
    var inputs = new ArrayList<Input>();
    inputs.add(
        new Input(
            "x",
            "[…, N]",
            RowShape.DTYPES,
            false,
            "the logits. -infinity masks an element; NaN or +infinity makes the row NaN"));
    var attributes = new ArrayList<Attribute>();
    attributes.add(Attribute.number("scale", 1, "scale factor applied to x").from(1e-30, 1e30));
    attributes.add(
        Attribute.flag(
            "causal",
            "whether row i of x[…, S, N] includes only elements up to i + N - S, so the"
                + " last row includes all; the others are masked, whatever their values"));
    if (dropout) {
      inputs.add(
          new Input(
              "mask", "[…, N]", Set.of(DType.U8, DType.BOOL), false, "0 for elements to drop"));
      attributes.add(
          Attribute.number(
                  "probability",
                  0.5,
                  "probability with which mask drops an element; the other elements are divided"
                      + " by 1 - probability. With 1, they are multiplied by 0, so y is all zeros"
                      + " but for rows that are NaN")
              .from(0, 1));
    }
    description =
        new OpDescription(
            dropout ? "softmax-dropout" : "softmax",
            dropout
                ? "Computes the softmax of each row, then applies dropout with a given mask; a"
                    + " row of x that is all -infinity becomes zeros."
                : "Computes the softmax of each row; a fully masked row becomes zeros, where"
                    + " PyTorch and ONNX return NaN.",
            inputs,
            attributes,
            List.of(Output.of("y", "[…, N]", "same as x", "the probabilities")),
            "y = exp(scale · x - m) / Σ exp(scale · x - m), where m is the maximum of scale · x"
                + (dropout
                    ? "; then elements where mask is 0 become 0, and the others are divided by 1 - probability"
                    : ""),
            "5·N per row");
  }

  /** Rows of a causal matrix [S, N] depend on their position, so batches consist of matrices. */
  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    if (!attributes.flag("causal")) {
      return RowShape.rows(inputs, inputs.keySet());
    }
    return RowShape.rank(inputs) < 3 ? Optional.empty() : Optional.of(new Rows(inputs.keySet()));
  }

  @Override
  public OpDescription description() {
    return description;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    if (attributes.flag("causal")) {
      queries(RowShape.of(inputs, "x"), attributes);
    }
    return BoundInputs.of(description, inputs, attributes).outputs();
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var outputs = BoundInputs.of(description, inputs, attributes).outputs();
    var x = RowShape.of(inputs, "x");
    int queries = queries(x, attributes);
    double probability = dropout ? attributes.number("probability") : 0;
    boolean causal = attributes.flag("causal");
    boolean isDouble = x.dtype() == DType.F64;
    var logits =
        Arguments.ofInputs("x")
            .with("scale", x.scalar(attributes.number("scale") / (isDouble ? 1 : Math.log(2))))
            .with("queries", queries);
    var all = logits.outputs("y").with("keep", x.scalar(kept(probability)));
    var arguments = dropout ? all.inputs("mask") : all;
    return RowPlanner.of(x, isDouble ? REGISTERS_OF_DOUBLE : 1)
        .plans(
            "%s of %s".formatted(description.name(), x.dtype().text()),
            capability,
            tile ->
                RowPlanner.Launches.of(
                    new RowKernel(new SoftmaxFunction(causal, dropout), x.dtype(), tile),
                    x,
                    arguments),
            split -> {
              int number = isDouble ? Double.BYTES : Float.BYTES;
              var partials = new Slot.Workspace(0);
              var ofParts = logits.with("partials", partials);
              var ofRows = arguments.with("partials", partials);
              var first = new RowKernel(new PartialSumFunction(causal), x.dtype(), split.tile());
              var second =
                  new RowKernel(new SplitSoftmaxFunction(causal, dropout), x.dtype(), split.tile());
              return new RowPlanner.Launches(
                  List.of(split.step(first, x, ofParts), split.step(second, x, ofRows)),
                  (long) x.rows() * split.parts() * PartialSumFunction.NUMBERS * number);
            },
            outputs,
            Plan.Cost.of(5.0 * x.tensor().shape().elements(), inputs, outputs));
  }

  /** Returns the factor of elements that dropout keeps. */
  private static double kept(double probability) {
    return probability == 1 ? 0 : 1 / (1 - probability);
  }

  /** Returns S of a causal x[…, S, N], else 1. */
  private static int queries(RowShape x, Attributes attributes) {
    if (!attributes.flag("causal")) {
      return 1;
    }
    if (x.tensor().shape().rank() < 2) {
      throw new OpException.ShapeMismatch(
          "x",
          "input \"x\" has shape %s; with causal it must be […, S, N]"
              .formatted(x.tensor().shape()));
    }
    return (int) x.tensor().shape().extent(-2);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var shape = RowShape.of(HostTensor.types(inputs), "x");
    var x = TensorReader.of(inputs, "x");
    var mask = TensorReader.of(inputs, "mask", 1);
    int n = shape.n();
    int queries = queries(shape, attributes);
    return Map.of(
        "y",
        ReferenceOutput.ofRows(
            shape.rows(),
            n,
            row -> {
              int keys = attributes.flag("causal") ? (int) (row % queries) + n - queries + 1 : n;
              var y = softmax(x.get(row * n, n), keys, attributes.number("scale"));
              for (int j = 0; j < n && dropout; j++) {
                double factor = kept(attributes.number("probability"));
                y[j] = mask.applyAsDouble(row * n + j) == 0 ? 0 : y[j] * factor;
              }
              return y;
            }));
  }

  /** Returns the softmax of the first elements of a row; the others are masked. */
  private static double[] softmax(double[] x, int keys, double scale) {
    var y = new double[x.length];
    double most = Double.NEGATIVE_INFINITY;
    for (int j = 0; j < keys; j++) {
      most = Math.max(most, x[j]);
    }
    for (int j = 0; j < keys && most != Double.NEGATIVE_INFINITY; j++) {
      // the rounding error is relative to the difference, not to x
      y[j] = Math.exp(scale * (x[j] - most));
    }
    double sum = CompensatedSum.of(y.length, j -> y[(int) j]);
    for (int j = 0; j < y.length && sum != 0; j++) {
      y[j] /= sum;
    }
    return y;
  }

  /** Probabilities of long rows are small; in f16 they may be subnormal. */
  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return dtype.bytes() < Float.BYTES ? tolerance(dtype) : Tolerance.usual(dtype);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return SoftmaxCases.of(this, dropout, random, quick);
  }

  /** Returns the tolerance of probabilities; 16-bit results are also rounded. */
  static Tolerance tolerance(DType dtype) {
    return switch (dtype) {
      case F64 -> Tolerance.maximum(1e-15);
      case F32 -> Tolerance.maximum(1e-6);
      default -> Tolerance.roundings(1.05, dtype);
    };
  }
}
