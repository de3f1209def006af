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
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.quant.Fp4Format;
import dev.athanor.ops.quant.Int4Weights;
import dev.athanor.ops.quant.Problems;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.tile.Epilogue;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * The product with E2M1 weights and separate scales, see {@link Fp4Format}. On tensor cores,
 * weights without the scale of the tensor are exact in bf16, and in f16 with e4m3 scales.
 */
public final class MatmulFp4 implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul-fp4",
          "Computes the product of a matrix and 4-bit floating-point weights, NVFP4 or MXFP4, which"
              + " are dequantized on the fly.",
          List.of(
              new Input(
                  "a",
                  "[…, M, K]",
                  Set.of(DType.F32, DType.F16, DType.BF16),
                  false,
                  "the left factor"),
              new Input(
                  "weights",
                  "[N, K/2]",
                  Set.of(DType.U8),
                  false,
                  "the weights, two e2m1 numbers per byte: weight (n, k) is the low nibble of byte"
                      + " (n, k/2) if k is even, else the high nibble"),
              new Input(
                  "scales",
                  "[N, K/16] with e4m3 or [N, K/32]",
                  Set.of(DType.E4M3, DType.U8),
                  false,
                  "scale of each group of weights along K. e4m3: NVFP4, groups of 16. u8: MXFP4,"
                      + " groups of 32, e8m0 exponents: e stands for 2^(e − 127), and 255 for NaN"),
              new Input(
                  "scale",
                  "[]",
                  Set.of(DType.F32),
                  true,
                  "scale of all weights: weight_scale_2 of ModelOpt, or the reciprocal of"
                      + " weight_global_scale of compressed-tensors; if omitted, 1"),
              ProductDescription.bias("bias", "[N]", Int4Weights.SCALES, "a")),
          List.of(
              Attribute.choice(
                  "outDtype",
                  "",
                  List.of("f32", "f16", "bf16"),
                  "dtype of c: f32 or that of a; default that of a")),
          List.of(Output.of("c", "[…, M, N]", "outDtype", "the product")),
          "c = scale · (a·wᵀ) + bias with w = scales · q, accumulated in f32. With f16 a,"
              + " tensor-core kernels round w to f16; weights beyond 65504 become infinite",
          "2·M·N·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  private static ProjectionProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var weights = call.type("weights");
    var format = Fp4Format.of(call.dtype("scales"));
    var out = ProjectionProblem.out(call, "a", attributes);
    var bias = ProjectionProblem.epilogue(call, "a", List.of("bias"), out);
    return new ProjectionProblem(
        new Packing.Fp4(format),
        call.dtype("a"),
        call.has("scale")
            ? new Epilogue(Epilogue.Scale.TENSOR, bias.bias(), bias.activation(), out)
            : bias,
        ProjectionProblem.rows(call, "a"),
        Checks.requireExtent("weights", weights, call.extent("K")),
        Integer.numberOfTrailingZeros(format.group()),
        "a",
        List.of(
            new ProjectionProblem.Projection(
                "weights",
                "scales",
                "",
                "",
                "bias",
                "c",
                Checks.requireExtent("weights", weights, call.extent("N")))));
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return problem(inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return ProjectionPlanner.plans(
        "matmul-fp4", problem(inputs, attributes), inputs, attributes, capability);
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    return Optional.of(new Rows(Set.of("a"), true));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var a = Objects.requireNonNull(inputs.get("a"));
    var weights = Objects.requireNonNull(inputs.get("weights"));
    var scales = Objects.requireNonNull(inputs.get("scales"));
    var format = Fp4Format.of(scales.type().dtype());
    int n = (int) weights.type().shape().extent(0);
    int k = (int) a.type().shape().extent(-1);
    Problems.Columns columns =
        column ->
            IntStream.range(0, k)
                .mapToDouble(
                    i -> format.weight(weights, scales, inputs.get("scale"), (long) column * k + i))
                .toArray();
    return Map.of("c", Problems.product(a, n, columns, inputs.get("bias")));
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new HashMap<>(SampledOp.super.draw(inputs, attributes, draw));
    Fp4Format.draw(drawn, "weights", "scales", draw);
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    var a = Objects.requireNonNull(inputs.get("a"));
    return tolerance(a.dtype(), dtype, a.shape().extent(-1));
  }

  /** Returns the tolerance of a product: that of f32, or that of 16-bit numbers. */
  static Tolerance tolerance(DType in, DType out, long depth) {
    return in == DType.F32 ? MatmulGguf.tolerance(in, depth) : MatmulInt4.tolerance(in, out);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return ProjectionCases.fp4(random, quick);
  }
}
