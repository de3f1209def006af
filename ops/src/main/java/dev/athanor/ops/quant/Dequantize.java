package dev.athanor.ops.quant;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
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
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/** Converts quantized numbers to floating point. */
public final class Dequantize implements SampledOp {

  private static final String TENSOR_SCALE = "tensorScale";

  private static final Set<DType> SCALES_OF_FP4 = EnumSet.of(DType.E4M3, DType.U8);

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "dequantize",
          "Converts quantized values to floating point.",
          List.of(
              new Input(
                  "x",
                  "[…x] or "
                      + Int4Weights.ofLayouts("u32 ", "[N, K/8]", "[K/8, N]", "[K, N/8]")
                      + " or […x, K/2] with u8",
                  inputs(),
                  false,
                  "the quantized values, in the format of the dtype. i8: 8-bit integers. u32:"
                      + " words of eight 4-bit weights, packed as for matmul-int4. u8: two e2m1"
                      + " weights per byte, as for matmul-fp4. q4_0 to mxfp4: GGML"
                      + " blocks. nf4: blocks of 64 values in 36 bytes: the f32 absmax, then the"
                      + " indices as packed by bitsandbytes, the first of two neighbors in the high"
                      + " nibble"),
              new Input(
                  "scale",
                  "[] or […] or [K/groupSize, N] with u32 or […x, K/16] with e4m3 or […x, K/32] with"
                      + " u8",
                  scales(),
                  true,
                  "scale factors. i8: required; one scale, or one per row in the shape of x"
                      + " without its last dimension. u32: required; one scale per group and"
                      + " column. u8: required; e4m3 scales of NVFP4, or u8 exponents of MXFP4."
                      + " Rejected for block formats, which contain their scales"),
              new Input(
                  "zeros",
                  "[K/groupSize, N/8]",
                  Set.of(DType.U32),
                  true,
                  "packed zero points, only for u32 with layouts gptq and awq; if omitted, every"
                      + " zero point is 8"),
              Int4Weights.groupIndices(", only for u32"),
              new Input(
                  TENSOR_SCALE,
                  "[]",
                  Set.of(DType.F32),
                  true,
                  "scale of all weights, only for u8")),
          Stream.concat(
                  Int4Weights.ATTRIBUTES.stream(),
                  Stream.of(
                      Attribute.choice(
                          "outDtype", "f32", List.of("f32", "f16", "bf16"), "dtype of y")))
              .toList(),
          List.of(
              Output.of(
                  "y",
                  "[…x] or "
                      + Int4Weights.ofLayouts("u32 ", "[N, K]", "[K, N]", "[K, N]")
                      + " or […x, K] with u8",
                  "outDtype",
                  "the dequantized values")),
          "i8: y = scale · x. u32: y = scale · (q − zero), or scale · q with layout"
              + " k-packed. u8: y = tensorScale · scale · q. Blocks: as defined by GGML and bitsandbytes. Computed in f32, then"
              + " rounded to outDtype",
          "1 or 2 per element");

  private static Set<DType> inputs() {
    var all = EnumSet.of(DType.I8, DType.U8, DType.U32, DType.NF4);
    all.addAll(BlockFormat.GGML);
    return all;
  }

  private static Set<DType> scales() {
    var all = EnumSet.copyOf(Int4Weights.SCALES);
    all.addAll(SCALES_OF_FP4);
    return all;
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  /** A checked problem: the type of the result and the launch that computes its elements. */
  private record Problem(TensorType y, Supplier<Step> step) {}

  private static Problem problem(Map<String, TensorType> inputs, Attributes attributes) {
    var call = bound(inputs, attributes);
    var x = call.type("x");
    var y = Objects.requireNonNull(call.outputs().get("y"));
    return switch (x.dtype()) {
      case I8 -> int8(x, call.type("scale"), y);
      case U32 -> int4(weights(call, attributes), x, y);
      case U8 -> fp4(call, x, y);
      default -> blocks(x, y);
    };
  }

  /** Returns a call in which the inputs are those that the format has. */
  private static BoundInputs bound(Map<String, TensorType> inputs, Attributes attributes) {
    Int4Weights.checkGroupSize(attributes);
    var format = Objects.requireNonNull(inputs.get("x")).dtype();
    for (var name : List.of("zeros", Int4Weights.GROUP_INDICES)) {
      if (format != DType.U32 && inputs.containsKey(name)) {
        throw new OpException.UnknownField(
            name, "%s require u32 x, got %s".formatted(name, format.text()));
      }
    }
    if (format != DType.U8 && inputs.containsKey(TENSOR_SCALE)) {
      throw new OpException.UnknownField(
          TENSOR_SCALE, "tensorScale requires u8 x, got " + format.text());
    }
    boolean hasScale = !format.isBlock();
    if (hasScale && !inputs.containsKey("scale")) {
      throw new OpException.MissingInput(
          "scale", "input \"scale\" is missing; it is required for %s x".formatted(format.text()));
    }
    if (!hasScale && inputs.containsKey("scale")) {
      throw new OpException.UnknownField(
          "scale", "%s blocks contain their scales; omit \"scale\"".formatted(format.text()));
    }
    var scale = inputs.get("scale");
    if (scale != null && SCALES_OF_FP4.contains(scale.dtype()) != (format == DType.U8)) {
      throw new OpException.UnsupportedDType(
          "scale",
          "scale is %s but x is %s; %s"
              .formatted(
                  scale.dtype().text(),
                  format.text(),
                  format == DType.U8 ? "it must be e4m3 or u8" : "it must be f32, f16 or bf16"));
    }
    return BoundInputs.of(DESCRIPTION, inputs, attributes);
  }

  private static Int4Weights weights(BoundInputs call, Attributes attributes) {
    return Int4Weights.of(call, "x", "N", "scale", attributes);
  }

  private static Problem blocks(TensorType x, TensorType y) {
    var variant = new DequantizeVariant.Blocks(x.dtype(), y.dtype());
    long blocks = x.shape().elements() / x.dtype().blockElements();
    int threads = Checks.requireThreads("x", x, blocks * variant.threadsPerBlock());
    return new Problem(
        y, () -> step(variant, threads, Arguments.ofInputs("x").with("parts", threads)));
  }

  private static Problem fp4(BoundInputs call, TensorType x, TensorType y) {
    var format = Fp4Format.of(call.dtype("scale"));
    boolean factor = call.has(TENSOR_SCALE);
    int threads = Checks.requireThreads("x", x, y.shape().elements() / Fp4Format.WORD);
    var arguments = Arguments.ofInputs("x", "scale").with("threads", threads);
    return new Problem(
        y,
        () ->
            step(
                new DequantizeVariant.Fp4(format, factor, y.dtype()),
                threads,
                factor ? arguments.inputs(TENSOR_SCALE) : arguments));
  }

  private static Problem int8(TensorType x, TensorType scale, TensorType y) {
    boolean perRow = scale.shape().rank() > 0;
    var rows = x.shape().rank() == 0 ? Shape.of() : x.shape().leading(1);
    if (perRow && !scale.shape().equals(rows)) {
      throw new OpException.ShapeMismatch(
          "scale",
          "input \"scale\" has shape %s; for x of shape %s it must be [] or, with one scale per row, %s"
              .formatted(scale.shape(), x.shape(), rows));
    }
    long elements = x.shape().elements();
    long length = perRow ? x.shape().extent(-1) : elements;
    int vector = Math.clamp(Long.lowestOneBit(length), 1, DequantizeVariant.vector(y.dtype()));
    int threads = Checks.requireThreads("x", x, elements / vector);
    return new Problem(
        y,
        () ->
            step(
                new DequantizeVariant.Int8(scale.dtype(), y.dtype(), perRow, vector),
                threads,
                Arguments.ofInputs("x", "scale")
                    .with("threads", threads)
                    .with("rowLength", perRow ? Checks.requireExtent("x", x, length) : 1)));
  }

  private static Problem int4(Int4Weights weights, TensorType x, TensorType y) {
    var out = y.dtype();
    var arguments =
        Arguments.NONE
            .with("packed", Slot.input("x"))
            .with("scales", Slot.input("scale"))
            .with("k", weights.k())
            .with("n", weights.n())
            .with(
                weights.indexed()
                    ? Arguments.ofInputs(Int4Weights.GROUP_INDICES).with("groups", weights.groups())
                    : Arguments.NONE.with("group", weights.group()));
    if (weights.layout() == Int4Layout.K_PACKED) {
      int threads = Checks.requireThreads("x", x, x.shape().elements());
      return new Problem(
          y,
          () ->
              step(
                  new DequantizeVariant.PackedAlongK(weights.scale(), out, weights.indexed()),
                  threads,
                  arguments.with("threads", threads)));
    }
    var format = ColumnWeights.Format.of(weights.layout());
    int columns = Math.max(1, format.columns(weights.n(), DequantizeVariant.vector(out)));
    long patches = (long) (weights.k() / ColumnWeights.ROWS) * (weights.n() / columns);
    int threads = Checks.requireThreads("x", x, patches);
    return new Problem(
        y,
        () ->
            step(
                new DequantizeVariant.Columns(
                    format,
                    weights.scale(),
                    out,
                    weights.zeros(),
                    weights.lessOne(),
                    weights.indexed(),
                    columns),
                threads,
                (weights.zeros() ? arguments.inputs("zeros") : arguments)
                    .with("threads", threads)));
  }

  private static Step step(DequantizeVariant variant, int threads, Arguments arguments) {
    int blocks = Math.ceilDiv(threads, DequantizeVariant.THREADS);
    return new Step(variant, Dim3.of(blocks), DequantizeVariant.THREADS, 0, arguments.outputs("y"));
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", problem(inputs, attributes).y);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = problem(inputs, attributes);
    var candidates = new Candidates("dequantize", capability);
    var step = problem.step.get();
    var outputs = Map.of("y", problem.y);
    var cost = Plan.Cost.of((double) problem.y.shape().elements(), inputs, outputs);
    candidates.offer(
        Machine.of(capability).streaming(cost.bytes()), "one thread per 16 bytes of y", step);
    return candidates.plans(outputs, cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = TensorReader.of(inputs, "x");
    return Map.of(
        "y",
        switch (Objects.requireNonNull(inputs.get("x")).type().dtype()) {
          case I8 -> {
            var scale = TensorReader.of(inputs, "scale");
            long rowLength = x.elements() / scale.elements();
            yield ReferenceOutput.ofElements(
                x.elements(), i -> x.get(i) * scale.get(i / rowLength));
          }
          case U32 -> int4(inputs, attributes);
          case U8 -> {
            var scale = Objects.requireNonNull(inputs.get("scale"));
            var format = Fp4Format.of(scale.type().dtype());
            var weights = Objects.requireNonNull(inputs.get("x"));
            var factor = inputs.get(TENSOR_SCALE);
            yield ReferenceOutput.ofElements(
                2 * x.elements(), i -> format.weight(weights, scale, factor, i));
          }
          default -> ReferenceOutput.ofElements(x.elements(), x::get);
        });
  }

  private static ReferenceOutput int4(Map<String, HostTensor> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var scale = Objects.requireNonNull(inputs.get("scale"));
    var weights = weights(bound(HostTensor.types(inputs), attributes), attributes);
    boolean columnIsRow = weights.layout() == Int4Layout.K_PACKED;
    return ReferenceOutput.ofElements(
        (long) weights.k() * weights.n(),
        i -> {
          int row = (int) (columnIsRow ? i % weights.k() : i / weights.n());
          int column = (int) (columnIsRow ? i / weights.k() : i % weights.n());
          return weights.weight(x, scale, inputs, row, column);
        });
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new HashMap<>(SampledOp.super.draw(inputs, attributes, draw));
    Int4Weights.drawGroups(drawn, "scale", draw);
    if (Objects.requireNonNull(inputs.get("x")).dtype() == DType.U8) {
      Fp4Format.draw(drawn, "x", "scale", draw);
    }
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    // f32 arithmetic, then one rounding to the dtype
    return dtype == DType.F32 ? Tolerance.maximum(1e-6) : Tolerance.roundings(1.01, dtype);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return DequantizeCases.of(random, quick);
  }
}
