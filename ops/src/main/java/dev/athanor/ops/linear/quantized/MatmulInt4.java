package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.quant.Problems;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** The product with grouped four-bit weights. */
public final class MatmulInt4 implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul-int4",
          "Computes the product of a matrix and 4-bit weights, which are dequantized on"
              + " the fly.",
          List.of(
              new Input("a", "[…, M, K]", Set.of(DType.F16, DType.BF16), false, "the left factor"),
              new Input(
                  "packed",
                  Int4Weights.WORDS,
                  Int4Weights.WORD_TYPES,
                  false,
                  "words of eight 4-bit weights, packed as layout specifies; K is a multiple of 8"),
              new Input(
                  "scales",
                  "[K/groupSize, N]",
                  Int4Weights.SCALES,
                  false,
                  "scale of each group of weights"),
              new Input(
                  "zeros",
                  "[K/groupSize, N/8]",
                  Int4Weights.WORD_TYPES,
                  true,
                  "packed zero points, only for layouts gptq and awq; if omitted, every zero"
                      + " point is 8"),
              ProductDescription.bias("bias", "[N]", Int4Weights.SCALES, "a"),
              Int4Weights.groupIndices("")),
          Stream.concat(
                  Int4Weights.ATTRIBUTES.stream(),
                  Stream.of(
                      Attribute.choice(
                          "outDtype",
                          "",
                          List.of("f32", "f16", "bf16"),
                          "dtype of c: f32 or that of a; default that of a")))
              .toList(),
          List.of(Output.of("c", "[…, M, N]", "outDtype", "the product")),
          "c = a·w + bias with w = scales · (q − zero), or scales · q with layout k-packed,"
              + " accumulated in f32",
          "2·M·N·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  private static Int4Weights weights(BoundInputs call, Attributes attributes) {
    return Int4Weights.of(call, "packed", "N", "scales", attributes);
  }

  private static BoundInputs bound(Map<String, TensorType> inputs, Attributes attributes) {
    Int4Weights.checkGroupSize(attributes);
    return BoundInputs.of(DESCRIPTION, inputs, attributes);
  }

  static ProjectionProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = bound(inputs, attributes);
    var weights = weights(call, attributes);
    var out = ProjectionProblem.out(call, "a", attributes);
    return new ProjectionProblem(
        Packing.of(weights),
        call.dtype("a"),
        ProjectionProblem.epilogue(call, "a", List.of("bias"), out),
        ProjectionProblem.rows(call, "a"),
        weights.k(),
        weights.groupShift(),
        "a",
        List.of(
            new ProjectionProblem.Projection(
                "packed",
                "scales",
                weights.zeros() ? "zeros" : "",
                weights.indexed() ? Int4Weights.GROUP_INDICES : "",
                "bias",
                "c",
                weights.n())));
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return problem(inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return ProjectionPlanner.plans(
        "matmul-int4", problem(inputs, attributes), inputs, attributes, capability);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("a"), true));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var weights = weights(bound(HostTensor.types(inputs), attributes), attributes);
    var a = Objects.requireNonNull(inputs.get("a"));
    return Map.of(
        "c", Problems.product(a, weights.n(), columns(weights, inputs), inputs.get("bias")));
  }

  private static Problems.Columns columns(Int4Weights weights, Map<String, HostTensor> inputs) {
    return weights.columns(
        Objects.requireNonNull(inputs.get("packed")),
        Objects.requireNonNull(inputs.get("scales")),
        inputs);
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new HashMap<>(SampledOp.super.draw(inputs, attributes, draw));
    Int4Weights.drawGroups(drawn, "scales", draw);
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return tolerance(Objects.requireNonNull(inputs.get("a")).dtype(), dtype);
  }

  /**
   * Returns the tolerance of a result, which includes the final rounding to its dtype, and that of
   * weights that are decoded to the dtype of a: a relative error of up to 2^-9 for bf16.
   */
  static Tolerance tolerance(DType in, DType out) {
    return Tolerance.relative(in == DType.BF16 || out == DType.BF16 ? 4e-3 : 2e-3);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return ProjectionCases.int4(random, quick);
  }
}
