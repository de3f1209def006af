package dev.athanor.ops.quant;

import dev.athanor.engine.author.KernelBuilder;
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
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;

/** Symmetric quantization to signed bytes, with one scale per tensor or per row. */
public final class QuantizeInt8 implements SampledOp {

  private static final double MOST = 127;

  /** Instructions per element: convert, compare or scale, and pack. */
  private static final double INSTRUCTIONS = 4;

  /** Registers per thread. */
  private static final int REGISTERS = 40;

  /** Bytes per load. */
  private static final int LOAD_BYTES = 16;

  /**
   * The least scale unless all numbers are 0: smaller f32 numbers are subnormal and lose precision.
   */
  static final float LEAST_SCALE = Float.MIN_NORMAL;

  private static final int MOST_PARTS = 1024;

  /** The number of elements that the reference decodes at once. */
  private static final int CHUNK = 4096;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "quantize-int8",
          "Quantizes a tensor to 8-bit integers, symmetrically: the largest magnitude"
              + " becomes 127.",
          List.of(
              new Input(
                  "x",
                  "[…, N]",
                  Set.of(DType.F32, DType.F16, DType.BF16),
                  false,
                  "the input tensor; NaN becomes 0 and infinity ±127, and neither affects the"
                      + " scale")),
          List.of(
              Attribute.choice(
                  "per",
                  "tensor",
                  List.of("tensor", "row"),
                  "granularity of the scale: one for the tensor, or one per row")),
          List.of(
              Output.of("q", "[…, N]", "i8", "x / scale, rounded; from -127 to 127"),
              Output.of(
                  "scale",
                  "[] or […]",
                  "f32",
                  "scale factor of q; one per row has the shape of x without its last dimension")),
          "scale = max(max |x| / 127, 2^-126) over all finite x, or 0 if they are all 0;"
              + " q = x / scale in f32, rounded to nearest, ties to even, and clamped to -127 …"
              + " 127",
          "3 per element");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    boolean perRow = attributes.choice("per").equals("row");
    if (perRow && x.shape().rank() == 0) {
      throw new OpException.ShapeMismatch(
          "x", "input \"x\" has shape []; one scale per row requires at least one dimension");
    }
    var scales = perRow ? x.shape().leading(1) : Shape.of();
    return Map.of(
        "q", new TensorType(DType.I8, x.shape()), "scale", new TensorType(DType.F32, scales));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    boolean perRow = attributes.choice("per").equals("row");
    var outputs = outputs(inputs, attributes);
    long rows = Objects.requireNonNull(outputs.get("scale")).shape().elements();
    long length = x.shape().elements() / rows;
    int vector = (int) Math.min(16 / x.dtype().bytes(), Long.lowestOneBit(length));
    int vectors = Checks.requireThreads("x", x, length / vector);
    int blocksX = Checks.requireThreads("x", x, rows);
    var candidates = new Candidates("quantize-int8", capability);
    var row = new QuantizeVariant(QuantizeVariant.Pass.ROWS, x.dtype(), vector);
    offerRows(candidates, row, x, blocksX, vectors, capability);
    if (!perRow) {
      offerParts(candidates, x, vector, vectors, capability);
    }
    return candidates.plans(outputs, Plan.Cost.of(3.0 * x.shape().elements(), inputs, outputs));
  }

  private static void offerRows(
      Candidates candidates,
      QuantizeVariant variant,
      TensorType x,
      int rows,
      int vectors,
      Capability capability) {
    var machine = Machine.of(capability);
    candidates.offer(
        machine.microseconds(rows, work(x, rows, 2, machine), 1.5 * x.bytes()),
        "one block per row, which reads the row twice",
        new Step(
            variant,
            Dim3.of(rows),
            QuantizeVariant.THREADS,
            0,
            Arguments.ofInputs("x").outputs("q", "scale").with("vectors", vectors)));
  }

  /**
   * Returns the work of a block.
   *
   * @param blocks number of blocks that share x
   * @param times number of times that it reads its elements
   */
  private static BlockWork work(TensorType x, int blocks, int times, Machine machine) {
    double elements = (double) x.shape().elements() / blocks;
    double bytes = elements * x.dtype().bytes();
    return new BlockWork(
        QuantizeVariant.THREADS,
        REGISTERS,
        0,
        machine.issueCycles(times * INSTRUCTIONS * elements / KernelBuilder.WARP),
        2 * times * Machine.BARRIER_CYCLES,
        times * bytes,
        Math.min(bytes, (double) QuantizeVariant.THREADS * LOAD_BYTES));
  }

  /** Offers two launches: the first finds the maximum of each part, the second quantizes. */
  private static void offerParts(
      Candidates candidates, TensorType x, int vector, int vectors, Capability capability) {
    var machine = Machine.of(capability);
    int wanted = Math.ceilDiv(vectors, QuantizeVariant.THREADS);
    int parts = Math.min(wanted, Math.min(MOST_PARTS, 4 * capability.multiprocessors()));
    var greatest = new QuantizeVariant(QuantizeVariant.Pass.GREATEST, x.dtype(), vector);
    var quantize = new QuantizeVariant(QuantizeVariant.Pass.QUANTISE, x.dtype(), vector);
    var arguments =
        Arguments.ofInputs("x")
            .with("workspace", new Slot.Workspace(0))
            .with("vectors", vectors)
            .with("parts", parts);
    candidates.offer(
        quantize.name(),
        2 * machine.microseconds(parts, work(x, parts, 1, machine), (double) x.bytes()),
        "%d blocks, in two launches".formatted(parts),
        List.of(
            new Step(greatest, Dim3.of(parts), QuantizeVariant.THREADS, 0, arguments),
            new Step(
                quantize,
                Dim3.of(parts),
                QuantizeVariant.THREADS,
                0,
                arguments.outputs("q", "scale"))),
        4L * parts);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = TensorReader.of(inputs, "x");
    boolean perRow = attributes.choice("per").equals("row");
    var shape = Objects.requireNonNull(inputs.get("x")).type().shape();
    long length = perRow ? shape.extent(-1) : shape.elements();
    var computed = new HashMap<Long, Float>();
    LongFunction<Float> scale =
        row -> computed.computeIfAbsent(row, r -> scale(x, r * length, length));
    return Map.of(
        "q",
            ReferenceOutput.ofElements(
                x.elements(), i -> quantized(x.get(i), scale.apply(i / length))),
        "scale", ReferenceOutput.ofElements(x.elements() / length, scale::apply));
  }

  private static float scale(TensorReader x, long first, long length) {
    double greatest = 0;
    for (long at = first; at < first + length; at += CHUNK) {
      for (double value : x.get(at, (int) Math.min(CHUNK, first + length - at))) {
        greatest = Double.isFinite(value) ? Math.max(greatest, Math.abs(value)) : greatest;
      }
    }
    return greatest == 0 ? 0 : Math.max((float) (greatest / MOST), LEAST_SCALE);
  }

  private static double quantized(double value, float scale) {
    float quotient = (float) (value / scale);
    double rounded = Float.isNaN(quotient) ? 0 : Math.rint(quotient);
    return Math.max(-MOST, Math.min(MOST, rounded));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    for (var dtype : List.of(DType.F32, DType.F16, DType.BF16)) {
      for (var per : List.of("tensor", "row")) {
        var inputs = new ArrayList<HostTensor>();
        inputs.add(draw.normal(dtype, 5, 24));
        if (!quick) {
          inputs.add(draw.normal(dtype, 3, 1031));
          inputs.add(draw.normal(dtype, 2, 2, 2 * QuantizeVariant.THREADS * 8));
          inputs.add(draw.normal(dtype, 1));
          inputs.add(draw.normal(dtype, 7, 18));
          inputs.add(HostTensor.zeros(TensorType.of(dtype, 3, 16)));
          inputs.add(special(draw, dtype));
        }
        for (var x : inputs) {
          cases.add(
              new Case(
                  Map.of("x", x),
                  Attributes.of(DESCRIPTION, Map.of("per", per)),
                  Map.of("q", Tolerance.exact(), "scale", Tolerance.exact())));
        }
      }
    }
    return cases;
  }

  private static HostTensor special(Draw draw, DType dtype) {
    var x = draw.normal(dtype, 4, 9);
    dtype.write(x.data(), 3, Double.NaN);
    dtype.write(x.data(), 5, Double.POSITIVE_INFINITY);
    dtype.write(x.data(), 12, Double.NEGATIVE_INFINITY);
    // a row of subnormal numbers, whose scale would underflow to 0
    for (int i = 27; i < 36; i++) {
      dtype.write(x.data(), i, (i - 31) * dtype.spacing(0));
    }
    return x;
  }
}
