package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.quantized.ProjectionProblem.Projection;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.quant.Problems;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;

/** The query, key and value projections in one launch; a block computes a tile of one of them. */
public final class QkvProject implements SampledOp {

  /** The letters of the projections, in the order of their outputs. */
  static final List<String> LETTERS = List.of("q", "k", "v");

  private final boolean int4;
  private final OpDescription description;

  /**
   * Creates one of the two ops.
   *
   * @param int4 whether weights are four-bit with grouped scales, rather than int8 with one scale
   */
  public QkvProject(boolean int4) {
    this.int4 = int4;
    this.description = describe(int4);
  }

  private static OpDescription describe(boolean int4) {
    var inputs = new ArrayList<Input>();
    inputs.add(
        new Input(
            "x", "[M, K]", Set.of(DType.F16, DType.BF16), false, "the input, one row per token"));
    for (var letter : LETTERS) {
      var n = letter.equals("q") ? "Nq" : "Nkv";
      inputs.add(
          int4
              ? new Input(
                  weights(letter),
                  "[%s, K/8]".formatted(n),
                  Set.of(DType.U32),
                  false,
                  "4-bit weights of the %s projection, packed as for matmul-int4 with layout k-packed"
                      .formatted(title(letter)))
              : new Input(
                  weights(letter),
                  "[K, %s]".formatted(n),
                  Set.of(DType.I8),
                  false,
                  "8-bit weights of the %s projection".formatted(title(letter))));
    }
    for (var letter : LETTERS) {
      inputs.add(
          int4
              ? new Input(
                  scale(letter),
                  "[K/groupSize, %s]".formatted(letter.equals("q") ? "Nq" : "Nkv"),
                  Set.of(DType.F16),
                  false,
                  "scale of each group of " + weights(letter))
              : new Input(
                  scale(letter), "[]", Set.of(DType.F32), false, "scale of " + weights(letter)));
    }
    var outputs = new ArrayList<Output>();
    for (var letter : LETTERS) {
      outputs.add(
          Output.of(
              letter,
              letter.equals("q") ? "[M, Nq]" : "[M, Nkv]",
              "same as x",
              "the %s projection of x".formatted(title(letter))));
    }
    return new OpDescription(
        int4 ? "qkv-project-int4" : "qkv-project-int8",
        "Computes the query, key and value projections with %s weights, in one launch."
            .formatted(int4 ? "4-bit" : "8-bit"),
        inputs,
        int4 ? List.of(Int4Weights.groupSize()) : List.of(),
        outputs,
        "q = scaleQ · x·wq, k = scaleK · x·wk, v = scaleV · x·wv, accumulated in f32,"
            + " then rounded to the dtype of x; k and v have the same width, which may differ"
            + " from that of q",
        "2·M·K·(Nq + 2·Nkv)");
  }

  private static String title(String letter) {
    return switch (letter) {
      case "q" -> "query";
      case "k" -> "key";
      default -> "value";
    };
  }

  private static String weights(String letter) {
    return "w" + letter;
  }

  private static String scale(String letter) {
    return "scale" + letter.toUpperCase(Locale.ROOT);
  }

  @Override
  public OpDescription description() {
    return description;
  }

  private ProjectionProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var depths = new HashMap<String, Integer>();
    var projections = new ArrayList<Projection>();
    int groupShift = 31;
    for (var letter : LETTERS) {
      var weights = Objects.requireNonNull(inputs.get(weights(letter)));
      var scale = Objects.requireNonNull(inputs.get(scale(letter)));
      int n;
      if (int4) {
        var packed =
            Int4Weights.of(weights(letter), weights, scale(letter), scale, null, attributes);
        n = packed.n();
        depths.put(letter, packed.k());
        groupShift = packed.groupShift();
      } else {
        requireBytes(letter, weights, scale);
        depths.put(
            letter, Checks.requireExtent(weights(letter), weights, weights.shape().extent(0)));
        n = Checks.requireExtent(weights(letter), weights, weights.shape().extent(1));
      }
      projections.add(new Projection(weights(letter), scale(letter), "", letter, n));
    }
    int depth = Objects.requireNonNull(depths.get("q"));
    for (var letter : LETTERS) {
      if (Objects.requireNonNull(depths.get(letter)) != depth) {
        throw new OpException.ShapeMismatch(
            weights(letter),
            "wq has K = %d but %s has K = %d; they must be equal"
                .formatted(depth, weights(letter), depths.get(letter)));
      }
    }
    int keys = projections.get(1).n();
    int values = projections.get(2).n();
    if (keys != values) {
      throw new OpException.ShapeMismatch(
          "wv", "wk has %d columns but wv has %d; they must be equal".formatted(keys, values));
    }
    return new ProjectionProblem(
        int4 ? new Packing.AlongK() : new Packing.AlongN(ColumnWeights.Format.INT8, false, false),
        x.dtype(),
        x.dtype(),
        ProjectionProblem.requireRows("x", x, depth),
        depth,
        groupShift,
        "x",
        projections);
  }

  private static void requireBytes(String letter, TensorType weights, TensorType scale) {
    if (weights.shape().rank() != 2) {
      throw new OpException.ShapeMismatch(
          weights(letter),
          "input \"%s\" has shape %s; it must be a matrix [K, N]"
              .formatted(weights(letter), weights.shape()));
    }
    if (!scale.shape().equals(Shape.of())) {
      throw new OpException.ShapeMismatch(
          scale(letter),
          "input \"%s\" has shape %s; it must be a scalar, []"
              .formatted(scale(letter), scale.shape()));
    }
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return problem(inputs, attributes).outputs();
  }

  /** Without columns of a projection, the others are computed; with four bits, K must not be 0. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return int4 && Objects.requireNonNull(inputs.get("x")).isEmpty()
        ? SampledOp.super.plansWithoutElements(inputs, attributes, capability)
        : Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return ProjectionPlanner.plans(
        description.name(), problem(inputs, attributes), inputs, capability);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("x"), true));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var products = new HashMap<String, ReferenceOutput>();
    for (var product : problem(HostTensor.types(inputs), attributes).projections()) {
      var columns = columns(product, inputs, attributes);
      products.put(product.output(), Problems.product(x, product.n(), columns));
    }
    return products;
  }

  private Problems.Columns columns(
      Projection product, Map<String, HostTensor> inputs, Attributes attributes) {
    var weights = Objects.requireNonNull(inputs.get(product.weights()));
    var scale = Objects.requireNonNull(inputs.get(product.scales()));
    if (int4) {
      return Int4Weights.of(
              product.weights(), weights.type(), product.scales(), scale.type(), null, attributes)
          .columns(weights, scale, null);
    }
    long depth = weights.type().shape().extent(0);
    return column ->
        LongStream.range(0, depth)
            .mapToDouble(i -> scale.get(0) * weights.get(i * product.n() + column))
            .toArray();
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return tolerance(dtype);
  }

  /** Returns the tolerance of a projection, dominated by the rounding to f16 or bf16. */
  static Tolerance tolerance(DType out) {
    return Tolerance.relative(out == DType.BF16 ? 4e-3 : 1e-3);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return ProjectionCases.qkv(this, int4, random, quick);
  }
}
