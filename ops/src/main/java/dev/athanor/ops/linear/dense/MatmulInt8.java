package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
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
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.tile.Epilogue;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The product of two int8 matrices, with exact sums. */
public final class MatmulInt8 implements SampledOp {

  /** The maximum K: 2^17 products of -128 by -128 would overflow an i32. */
  private static final int MAX_DEPTH = (1 << 17) - 1;

  private static final Set<DType> I8 = Set.of(DType.I8);
  private static final Set<DType> F32 = Set.of(DType.F32);
  private static final Set<DType> OUT = Set.of(DType.F32, DType.F16, DType.BF16);

  /** The standard deviation of random signed bytes. */
  private static final double BYTE_DEVIATION = 74;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "matmul-int8",
          "Computes the product of 8-bit integer matrices with exact accumulation, scales"
              + " it and adds a bias.",
          List.of(
              new Input("a", "[…, M, K]", I8, false, "the left factor; K is at most 131071"),
              new Input("b", "[K, N] or [N, K] with transposeB", I8, false, "the right factor"),
              new Input("scale", "[]", F32, true, "scale factor of the product"),
              new Input("aScale", "[…, M]", F32, true, "scale factor of each row; requires bScale"),
              new Input("bScale", "[N]", F32, true, "scale factor of each column; requires aScale"),
              new Input(
                  "bias", "[N]", OUT, true, "the bias, added to each row; f32 or same dtype as c")),
          List.of(
              Attribute.flag("transposeB", "whether b is stored as [N, K]"),
              Attribute.choice(
                  "outDtype",
                  "f32",
                  List.of("f32", "f16", "bf16", "i32"),
                  "dtype of c; i32 returns the sums and accepts neither scale nor bias, like"
                      + " MatMulInteger in ONNX")),
          List.of(Output.of("c", "[…, M, N]", "outDtype", "the product")),
          "c = scale · a·b + bias, or aScale·bScale · a·b + bias per row and column,"
              + " accumulated exactly in i32",
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
    var problem = problem(inputs, attributes);
    var candidates = new Candidates("product of i8", capability);
    TensorPlanner.offer(problem, capability, candidates);
    return candidates.plans(outputs(inputs, attributes), problem.cost());
  }

  static MatmulProblem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    if (call.extent("K") > MAX_DEPTH) {
      throw new OpException.TooLarge(
          "a",
          "a %s has K = %d; the maximum is %d, as longer sums can overflow i32"
              .formatted(call.type("a").shape(), call.extent("K"), MAX_DEPTH));
    }
    boolean transposeB = attributes.flag("transposeB");
    var out = DType.of(attributes.choice("outDtype")).orElseThrow();
    return new MatmulProblem(
        DType.I8,
        DType.I8,
        Batch.of(Shape.of(), Shape.of()),
        Checks.requireExtent("a", call.type("a"), call.type("a").shape().leading(1).elements()),
        MatmulProblem.extent("b", call.type("b"), transposeB ? 0 : 1),
        (int) call.extent("K"),
        false,
        transposeB,
        false,
        new Epilogue(scale(call, out), bias(call, out), Activation.NONE, out),
        1,
        Optional.empty());
  }

  private static Epilogue.Scale scale(BoundInputs call, DType out) {
    var scale = MatmulProblem.scale(call);
    if (out == DType.I32 && scale != Epilogue.Scale.NONE) {
      throw new OpException.UnsupportedDType(
          "outDtype",
          "outDtype i32 returns unscaled sums; omit the scales, or use outDtype f32, f16 or"
              + " bf16");
    }
    return scale;
  }

  private static Optional<DType> bias(BoundInputs call, DType out) {
    if (!call.has("bias")) {
      return Optional.empty();
    }
    if (out == DType.I32) {
      throw new OpException.UnsupportedDType(
          "outDtype",
          "outDtype i32 returns sums without a bias; omit the bias, or use outDtype f32, f16 or"
              + " bf16");
    }
    MatmulProblem.requireBias(call.dtype("bias"), "c", out);
    return Optional.of(call.dtype("bias"));
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

  /** Returns scales that bring the products to about 1; unscaled products would overflow f16. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    double depth = Objects.requireNonNull(inputs.get("a")).shape().extent(-1);
    double scale = 1 / (BYTE_DEVIATION * BYTE_DEVIATION * Math.sqrt(depth));
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) -> {
      double least = name.equals("scale") ? scale : Math.sqrt(scale);
      boolean scales = name.equals("scale") || name.endsWith("Scale");
      drawn.put(name, scales ? draw.uniform(least / 2, least, type) : draw.usual(type));
    });
    return drawn;
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return MatmulInt8Cases.of(random, quick);
  }
}
