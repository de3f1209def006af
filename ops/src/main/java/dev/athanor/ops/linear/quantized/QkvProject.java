package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.linear.quantized.ProjectionProblem.Projection;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
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

/** The query, key and value projections. */
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
            "x",
            "[…, M, K]",
            Set.of(DType.F16, DType.BF16),
            false,
            "the input, one row per token"));
    for (var letter : LETTERS) {
      var n = columns(letter);
      inputs.add(
          int4
              ? new Input(
                  weights(letter),
                  "[%s, K/8]".formatted(n),
                  Int4Weights.WORD_TYPES,
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
              ? groupScale(letter)
              : new Input(
                  scale(letter), "[]", Set.of(DType.F32), false, "scale of " + weights(letter)));
    }
    for (var letter : LETTERS) {
      var bias =
          ProductDescription.bias(
              bias(letter), "[%s]".formatted(columns(letter)), Int4Weights.SCALES, "x");
      inputs.add(letter.equals("q") ? bias : bias.like(bias("q")));
    }
    var outputs = new ArrayList<Output>();
    for (var letter : LETTERS) {
      outputs.add(
          Output.of(
              letter,
              "[…, M, %s]".formatted(columns(letter)),
              "same as x",
              "the %s projection of x".formatted(title(letter))));
    }
    return new OpDescription(
        int4 ? "qkv-project-int4" : "qkv-project-int8",
        "Computes the query, key and value projections with %s weights."
            .formatted(int4 ? "4-bit" : "8-bit"),
        inputs,
        int4 ? List.of(Int4Weights.groupSize()) : List.of(),
        outputs,
        "q = scaleQ · x·wq + biasQ, k = scaleK · x·wk + biasK, v = scaleV · x·wv + biasV, accumulated in f32,"
            + " then rounded to the dtype of x; k and v have the same width, which may differ"
            + " from that of q",
        "2·M·K·(Nq + 2·Nkv)");
  }

  private static Input groupScale(String letter) {
    var scale =
        new Input(
            scale(letter),
            "[K/groupSize, %s]".formatted(columns(letter)),
            Int4Weights.SCALES,
            false,
            "scale of each group of " + weights(letter));
    return letter.equals("q") ? scale : scale.like(scale("q"));
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

  /** Returns the name of the number of columns. */
  private static String columns(String letter) {
    return letter.equals("q") ? "Nq" : "Nkv";
  }

  private static String scale(String letter) {
    return "scale" + letter.toUpperCase(Locale.ROOT);
  }

  private static String bias(String letter) {
    return "bias" + letter.toUpperCase(Locale.ROOT);
  }

  @Override
  public OpDescription description() {
    return description;
  }

  ProjectionProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = bound(inputs, attributes);
    var x = call.type("x");
    var projections =
        LETTERS.stream()
            .map(letter ->
                new Projection(
                    weights(letter),
                    scale(letter),
                    "",
                    "",
                    bias(letter),
                    letter,
                    columns(call, letter, attributes)))
            .toList();
    return new ProjectionProblem(
        int4 ? Packing.of(int4(call, "q", attributes)) : Packing.AlongN.INT8,
        x.dtype(),
        ProjectionProblem.epilogue(
            call, "x", LETTERS.stream().map(QkvProject::bias).toList(), x.dtype()),
        ProjectionProblem.rows(call, "x"),
        Checks.requireExtent("x", x, call.extent("K")),
        int4 ? int4(call, "q", attributes).groupShift() : 31,
        "x",
        projections);
  }

  private BoundInputs bound(Map<String, TensorType> inputs, Attributes attributes) {
    if (int4) {
      Int4Weights.checkGroupSize(attributes);
    }
    return BoundInputs.of(description, inputs, attributes);
  }

  private static Int4Weights int4(BoundInputs call, String letter, Attributes attributes) {
    return Int4Weights.of(call, weights(letter), columns(letter), scale(letter), attributes);
  }

  private int columns(BoundInputs call, String letter, Attributes attributes) {
    return int4
        ? int4(call, letter, attributes).n()
        : Checks.requireExtent(
            weights(letter), call.type(weights(letter)), call.extent(columns(letter)));
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
        description.name(), problem(inputs, attributes), inputs, attributes, capability);
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
      var columns = weights(product, inputs, attributes);
      products.put(
          product.output(), Problems.product(x, product.n(), columns, inputs.get(product.bias())));
    }
    return products;
  }

  private Problems.Columns weights(
      Projection product, Map<String, HostTensor> inputs, Attributes attributes) {
    var weights = Objects.requireNonNull(inputs.get(product.weights()));
    var scale = Objects.requireNonNull(inputs.get(product.scales()));
    if (int4) {
      var call = bound(HostTensor.types(inputs), attributes);
      return int4(call, product.output(), attributes).columns(weights, scale, Map.of());
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
