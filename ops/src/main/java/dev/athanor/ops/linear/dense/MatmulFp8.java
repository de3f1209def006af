package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * The product of two fp8 matrices with the scales that checkpoints store: of a tensor, of rows and
 * columns, or of {@linkplain BlockScales blocks}.
 */
public final class MatmulFp8 implements SampledOp {

  private static final Set<DType> FP8 = Set.of(DType.E4M3, DType.E5M2);
  private static final Set<DType> F32 = Set.of(DType.F32);
  private static final Set<DType> OUT = Set.of(DType.F32, DType.F16, DType.BF16);

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul-fp8",
          "Computes the product of 8-bit floating-point matrices, scales it and adds a bias.",
          List.of(
              new Input("a", "[…, M, K]", FP8, false, "the left factor"),
              new Input("b", "[K, N] or [N, K] with transposeB", FP8, false, "the right factor"),
              new Input("scale", "[]", F32, true, "scale factor of the product"),
              new Input(
                  "aScale",
                  "[…, M] or […, M, GK] with blockScales",
                  F32,
                  true,
                  "scale factor of each row, or of each 128 elements of a row, GK = K/128 rounded"
                      + " up; requires bScale"),
              new Input(
                  "bScale",
                  "[N] or [GN, GK] with blockScales",
                  F32,
                  true,
                  "scale factor of each column, or of each block of 128 by 128 elements, GN = N/128"
                      + " rounded up; requires aScale"),
              new Input(
                  "bias", "[N]", OUT, true, "the bias, added to each row; f32 or same dtype as c")),
          List.of(
              Attribute.flag("transposeB", "whether b is stored as [N, K]"),
              Attribute.flag(
                  "blockScales",
                  "whether aScale and bScale are those of blocks; requires transposeB"),
              Attribute.choice("outDtype", "f32", List.of("f32", "f16", "bf16"), "dtype of c")),
          List.of(Output.of("c", "[…, M, N]", "outDtype", "the product")),
          "c = scale · a·b + bias, or Σ aScale·bScale · a·b + bias over rows and columns or blocks,"
              + " accumulated in f32",
          "2·M·N·K");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    problem(inputs, attributes);
    return BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
  }

  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return MatmulPlanner.plans(
        problem(inputs, attributes), outputs(inputs, attributes), capability);
  }

  static MatmulProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    boolean transposeB = attributes.flag("transposeB");
    var a = call.type("a");
    var out = DType.of(attributes.choice("outDtype")).orElseThrow();
    var bias = call.has("bias") ? Optional.of(call.dtype("bias")) : Optional.<DType>empty();
    bias.ifPresent(dtype -> MatmulProblem.requireBias(dtype, "c", out));
    return new MatmulProblem(
        a.dtype(),
        call.dtype("b"),
        Batch.of(Shape.of(), Shape.of()),
        Checks.requireExtent("a", a, a.shape().leading(1).elements()),
        MatmulProblem.extent("b", call.type("b"), transposeB ? 0 : 1),
        MatmulProblem.extent("a", a, -1),
        false,
        transposeB,
        false,
        new Epilogue(scale(call, attributes), bias, Activation.NONE, out),
        1,
        Optional.empty());
  }

  private static Epilogue.Scale scale(BoundInputs call, Attributes attributes) {
    var scale = MatmulProblem.scale(call);
    if (!attributes.flag("blockScales")) {
      return scale;
    }
    if (scale != Epilogue.Scale.ROWS_AND_COLUMNS || !attributes.flag("transposeB")) {
      throw new OpException.InvalidAttribute(
          "blockScales",
          "blockScales requires transposeB and the inputs aScale and bScale, got transposeB=%s and %s"
              .formatted(
                  attributes.flag("transposeB"),
                  List.of("scale", "aScale", "bScale").stream().filter(call::has).toList()));
    }
    requireBlocks(call, "GK", "K", "aScale");
    requireBlocks(call, "GN", "N", "bScale");
    return Epilogue.Scale.BLOCKS;
  }

  private static void requireBlocks(BoundInputs call, String name, String extent, String input) {
    long expected = Math.ceilDiv(call.extent(extent), BlockScales.SIZE);
    if (call.extent(name) != expected) {
      throw new OpException.ShapeMismatch(
          input,
          "%s %s has %s = %d; it must be %d, which is %s = %d divided by %d and rounded up"
              .formatted(
                  input,
                  call.type(input).shape(),
                  name,
                  call.extent(name),
                  expected,
                  extent,
                  call.extent(extent),
                  BlockScales.SIZE));
    }
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    if (!inputs.containsKey("aScale")) {
      return Optional.of(new Rows(Set.of("a"), true));
    }
    boolean matrix = Objects.requireNonNull(inputs.get("a")).shape().rank() == 2;
    return Optional.of(new Rows(Set.of("a", "aScale"), matrix));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return Map.of(
        "c", MatmulReference.scaled(problem(HostTensor.types(inputs), attributes), inputs));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    double limit = ProductDescription.tolerance(DType.E4M3, 1).limit();
    double ofOut = dtype == DType.F32 ? 0 : Tolerance.usual(dtype).limit();
    return Tolerance.relative(Math.max(limit, ofOut));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return MatmulFp8Cases.of(random, quick);
  }
}
