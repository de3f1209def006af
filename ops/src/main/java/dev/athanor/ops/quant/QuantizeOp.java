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
import dev.athanor.ops.map.Conversion;
import dev.athanor.ops.map.Rounding;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.quant.Quantization.Granularity;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongFunction;
import java.util.random.RandomGenerator;

/** Symmetric quantization to 8-bit numbers, with a scale per tensor, row or group of a row. */
public final class QuantizeOp implements SampledOp {

  /** Instructions per element: convert, compare or scale, and pack. */
  private static final double INSTRUCTIONS = 4;

  /** Instructions that round an element to an 8-bit float, for which not every GPU has one. */
  private static final double FLOAT_INSTRUCTIONS = 14;

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

  private final Quantization family;

  private QuantizeOp(Quantization family) {
    this.family = family;
  }

  /** Returns the op that quantizes to signed bytes. */
  public static QuantizeOp int8() {
    return new QuantizeOp(Quantization.INT8);
  }

  /** Returns the op that quantizes to e4m3 or e5m2. */
  public static QuantizeOp fp8() {
    return new QuantizeOp(Quantization.FP8);
  }

  @Override
  public OpDescription description() {
    return family.description();
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var granularity = family.granularity(attributes);
    if (granularity != Granularity.TENSOR && x.shape().rank() == 0) {
      throw new OpException.ShapeMismatch(
          "x",
          "input \"x\" has shape []; one scale per %s requires at least one dimension"
              .formatted(granularity.text()));
    }
    var scales =
        switch (granularity) {
          case TENSOR -> Shape.of();
          case ROW -> x.shape().leading(1);
          case GROUP ->
              x.shape().leading(1).with(Math.ceilDiv(x.shape().extent(-1), QuantizeVariant.GROUP));
        };
    return Map.of(
        "q",
        new TensorType(family.dtype(attributes), x.shape()),
        "scale",
        new TensorType(DType.F32, scales));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var granularity = family.granularity(attributes);
    var outputs = outputs(inputs, attributes);
    var out = family.dtype(attributes);
    long scales = Objects.requireNonNull(outputs.get("scale")).shape().elements();
    long rows = granularity == Granularity.GROUP ? x.shape().leading(1).elements() : scales;
    long length = x.shape().elements() / rows;
    int vector = (int) Math.min(LOAD_BYTES / x.dtype().bytes(), Long.lowestOneBit(length));
    int vectors = Checks.requireThreads("x", x, length / vector);
    var candidates = new Candidates(family.description().name(), capability);
    if (granularity == Granularity.GROUP) {
      var variant = new QuantizeVariant(QuantizeVariant.Pass.GROUPS, x.dtype(), out, vector);
      int threads = Checks.requireThreads("x", x, scales * variant.lanes());
      offerGroups(candidates, variant, x, threads, vectors, capability);
    } else {
      int blocksX = Checks.requireThreads("x", x, rows);
      var row = new QuantizeVariant(QuantizeVariant.Pass.ROWS, x.dtype(), out, vector);
      offerRows(candidates, row, x, blocksX, vectors, capability);
    }
    if (granularity == Granularity.TENSOR) {
      offerParts(candidates, x, out, vector, vectors, capability);
    }
    return candidates.plans(outputs, Plan.Cost.of(3.0 * x.shape().elements(), inputs, outputs));
  }

  private static void offerGroups(
      Candidates candidates,
      QuantizeVariant variant,
      TensorType x,
      int threads,
      int vectors,
      Capability capability) {
    var machine = Machine.of(capability);
    int blocks = Math.ceilDiv(threads, QuantizeVariant.THREADS);
    candidates.offer(
        machine.microseconds(blocks, work(x, variant.out(), blocks, 1, machine), 1.0 * x.bytes()),
        "%d threads per group, which read it once".formatted(variant.lanes()),
        new Step(
            variant,
            Dim3.of(blocks),
            QuantizeVariant.THREADS,
            0,
            Arguments.ofInputs("x")
                .outputs("q", "scale")
                .with("vectors", vectors)
                .with("groups", threads / variant.lanes())));
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
        machine.microseconds(rows, work(x, variant.out(), rows, 2, machine), 1.5 * x.bytes()),
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
   * @param out dtype of q
   * @param blocks number of blocks that share x
   * @param times number of times that it reads its elements
   */
  private static BlockWork work(TensorType x, DType out, int blocks, int times, Machine machine) {
    double elements = (double) x.shape().elements() / blocks;
    double rounding = out.isFloat() ? FLOAT_INSTRUCTIONS : 0;
    double bytes = elements * x.dtype().bytes();
    return new BlockWork(
        QuantizeVariant.THREADS,
        REGISTERS,
        0,
        machine.issueCycles((times * INSTRUCTIONS + rounding) * elements / KernelBuilder.WARP),
        2 * times * Machine.BARRIER_CYCLES,
        times * bytes,
        Math.min(bytes, (double) QuantizeVariant.THREADS * LOAD_BYTES));
  }

  /** Offers two launches: the first finds the maximum of each part, the second quantizes. */
  private static void offerParts(
      Candidates candidates,
      TensorType x,
      DType out,
      int vector,
      int vectors,
      Capability capability) {
    var machine = Machine.of(capability);
    int wanted = Math.ceilDiv(vectors, QuantizeVariant.THREADS);
    int parts = Math.min(wanted, Math.min(MOST_PARTS, 4 * capability.multiprocessors()));
    var greatest = new QuantizeVariant(QuantizeVariant.Pass.GREATEST, x.dtype(), out, vector);
    var quantize = new QuantizeVariant(QuantizeVariant.Pass.QUANTISE, x.dtype(), out, vector);
    var arguments =
        Arguments.ofInputs("x")
            .with("workspace", new Slot.Workspace(0))
            .with("vectors", vectors)
            .with("parts", parts);
    candidates.offer(
        quantize.name(),
        2 * machine.microseconds(parts, work(x, out, parts, 1, machine), (double) x.bytes()),
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
    var granularity = family.granularity(attributes);
    var out = family.dtype(attributes);
    var shape = Objects.requireNonNull(inputs.get("x")).type().shape();
    long row = granularity == Granularity.TENSOR ? x.elements() : shape.extent(-1);
    long length = granularity == Granularity.GROUP ? QuantizeVariant.GROUP : row;
    long perRow = Math.ceilDiv(row, length);
    var computed = new HashMap<Long, Float>();
    LongFunction<Float> scale =
        index ->
            computed.computeIfAbsent(
                index,
                i -> {
                  long within = i % perRow * length;
                  long first = i / perRow * row + within;
                  return scale(x, out, first, Math.min(length, row - within));
                });
    return Map.of(
        "q",
            ReferenceOutput.ofElements(
                x.elements(),
                i -> quantized(x.get(i), out, scale.apply(i / row * perRow + i % row / length))),
        "scale", ReferenceOutput.ofElements(x.elements() / row * perRow, scale::apply));
  }

  private static float scale(TensorReader x, DType out, long first, long length) {
    double greatest = 0;
    for (long at = first; at < first + length; at += CHUNK) {
      for (double value : x.get(at, (int) Math.min(CHUNK, first + length - at))) {
        greatest = Double.isFinite(value) ? Math.max(greatest, Math.abs(value)) : greatest;
      }
    }
    return greatest == 0
        ? 0
        : Math.max((float) (greatest / Quantization.greatest(out)), LEAST_SCALE);
  }

  private static double quantized(double value, DType out, float scale) {
    if (out.isFloat()) {
      return Rounding.round(out, (float) value / (scale == 0 ? 1 : scale), Conversion.usual(out));
    }
    float quotient = (float) (value / scale);
    double rounded = Float.isNaN(quotient) ? 0 : Math.rint(quotient);
    double most = Quantization.greatest(out);
    return Math.max(-most, Math.min(most, rounded));
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
      for (var granularity : family.granularities()) {
        var inputs = new ArrayList<HostTensor>();
        inputs.add(draw.normal(dtype, 5, 24));
        if (!quick) {
          inputs.add(draw.normal(dtype, 3, 1031));
          inputs.add(draw.normal(dtype, 2, 2, 2 * QuantizeVariant.THREADS * 8));
          inputs.add(draw.normal(dtype, 1));
          inputs.add(draw.normal(dtype, 7, 18));
          inputs.add(HostTensor.zeros(TensorType.of(dtype, 3, 16)));
          inputs.add(special(draw, dtype));
          if (granularity == Granularity.GROUP) {
            inputs.add(draw.normal(dtype, 3, 2 * QuantizeVariant.GROUP + 4));
            inputs.add(draw.normal(dtype, 2, 2, QuantizeVariant.GROUP + 2));
          }
        }
        for (var x : inputs) {
          for (var out : family.dtypes()) {
            cases.add(of(x, granularity, out));
          }
        }
      }
    }
    return cases;
  }

  private Case of(HostTensor x, Granularity granularity, DType out) {
    return new Case(
        Map.of("x", x),
        Attributes.of(family.description(), family.attributes(granularity, out)),
        Map.of("q", Tolerance.exact(), "scale", Tolerance.exact()));
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
