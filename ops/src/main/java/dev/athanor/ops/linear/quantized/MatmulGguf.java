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
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.quant.BlockFormat;
import dev.athanor.ops.quant.Problems;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** The product with weights in GGML block formats. */
public final class MatmulGguf implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul-gguf",
          "Computes the product of a matrix and weights in a GGUF block format.",
          List.of(
              new Input("a", "[…, M, K]", Set.of(DType.F32, DType.F16), false, "the left factor"),
              new Input(
                  "w",
                  "[N, K]",
                  BlockFormat.GGML,
                  false,
                  "the weights, one row of blocks per column of c; the dtype selects the format"),
              ProductDescription.bias("bias", "[N]", Set.of(DType.F32, DType.F16), "a")),
          List.of(),
          List.of(Output.of("c", "[…, M, N]", "f32", "the product")),
          "c = a·wᵀ + bias, with w dequantized as defined by GGML, accumulated in f32. With f32"
              + " a, every kernel keeps at least 20 significant bits of the factors. With f16"
              + " a, tensor-core kernels round weights to f16; weights beyond 65504 become"
              + " infinite. Some kernels multiply the minimum of a block by the sum of a's"
              + " elements, so a row of a with an infinity gives infinities or NaN",
          "2·M·N·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  private static ProjectionProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var w = call.type("w");
    return new ProjectionProblem(
        new Packing.Block(w.dtype()),
        call.dtype("a"),
        ProjectionProblem.epilogue(call, "a", List.of("bias"), DType.F32),
        ProjectionProblem.rows(call, "a"),
        Checks.requireExtent("w", w, call.extent("K")),
        31,
        "a",
        List.of(
            new ProjectionProblem.Projection(
                "w", "", "", "", "bias", "c", Checks.requireExtent("w", w, call.extent("N")))));
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return problem(inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return ProjectionPlanner.plans(
        "matmul-gguf", problem(inputs, attributes), inputs, attributes, capability);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("a"), true));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var w = Objects.requireNonNull(inputs.get("w"));
    var a = Objects.requireNonNull(inputs.get("a"));
    return Map.of(
        "c", Problems.product(a, (int) w.type().shape().extent(0), weights(w), inputs.get("bias")));
  }

  private static Problems.Columns weights(HostTensor w) {
    int depth = (int) w.type().shape().extent(1);
    return column ->
        IntStream.range(0, depth).mapToDouble(i -> w.get((long) column * depth + i)).toArray();
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    var a = Objects.requireNonNull(inputs.get("a"));
    return tolerance(a.dtype(), a.shape().extent(-1));
  }

  /** Returns the tolerance of a product: that of f32, or that of weights rounded to f16. */
  static Tolerance tolerance(DType in, long depth) {
    return Tolerance.relative(in == DType.F32 ? 1e-6 * Math.sqrt((double) depth) : 1e-3);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return ProjectionCases.gguf(random, quick);
  }
}
