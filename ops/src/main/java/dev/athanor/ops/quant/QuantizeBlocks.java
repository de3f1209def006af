package dev.athanor.ops.quant;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.author.Real;
import dev.athanor.engine.author.Value;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Type;
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
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Quantizes numbers to GGML block formats by the formulas of GGML's reference quantizers, {@code
 * quantize_row_*_ref} of ggml-quants.c; see {@link BlockRule}.
 */
public final class QuantizeBlocks implements SampledOp {

  /** Instructions per number: several for each threshold, or to round and pack. */
  private static final double INSTRUCTIONS = 30;

  /** Registers per thread. */
  private static final int REGISTERS = 56;

  private static final List<DType> INPUTS = List.of(DType.F32, DType.F16, DType.BF16);

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "quantize",
          "Quantizes a tensor to a GGML block format, as GGML's reference quantizers do.",
          List.of(
              new Input(
                  "x",
                  "[…, N]",
                  Set.copyOf(INPUTS),
                  false,
                  "the input tensor; N must be a multiple of 32, the block size. NaN is quantized"
                      + " as 0, infinities saturate, and neither affects a scale")),
          List.of(
              Attribute.choice(
                  "format",
                  DType.Q8_0.text(),
                  BlockRule.ALL.stream().map(rule -> rule.format().text()).toList(),
                  "dtype of q")),
          List.of(
              Output.of("q", "[…, N]", "format", "the quantized values; dequantize decodes them")),
          "Per block of 32, in f32; m is the first x of the largest magnitude. q8_0:"
              + " d = |m| / 127, q = x · (1/d), rounded, ties away from zero."
              + " q4_0 and q5_0: d = m / -8 or m / -16, q = x · (1/d), ties up."
              + " q4_1: d = (max x − min x) / 15, q = (x − min x) · (1/d), ties up."
              + " iq4_nl: q is the closest table entry to x · (1/d), d = m / -127; then"
              + " d = Σ x³ · q / Σ x² · q². mxfp4: d = 2^(⌊log2 |m|⌋ − 2), q is the closest E2M1"
              + " number to x/d, ties to zero. d and min x are stored in f16; they are infinite"
              + " beyond 65504, and d of iq4_nl may be NaN",
          "4 per element");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  private static DType format(Attributes attributes) {
    return DType.of(attributes.choice("format")).orElseThrow();
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var format = format(attributes);
    int size = format.blockElements();
    if (x.shape().rank() == 0 || x.shape().extent(-1) % size != 0) {
      throw new OpException.ShapeMismatch(
          "x",
          "input \"x\" has shape %s; its last dimension must be a multiple of %d, the block size of %s"
              .formatted(x.shape(), size, format.text()));
    }
    return Map.of("q", new TensorType(format, x.shape()));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var outputs = outputs(inputs, attributes);
    var variant = new Quantizing(format(attributes), x.dtype());
    long blocks = x.shape().elements() / variant.format().blockElements();
    int threads = Checks.requireThreads("x", x, blocks * variant.threadsPerBlock());
    int grid = Math.ceilDiv(threads, Quantizing.THREADS);
    var cost = Plan.Cost.of(4.0 * x.shape().elements(), inputs, outputs);
    var machine = Machine.of(capability);
    double elements = (double) x.shape().elements() / grid;
    double bytes = elements * x.dtype().bytes();
    var work =
        new BlockWork(
            Quantizing.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(INSTRUCTIONS * elements / KernelBuilder.WARP),
            0,
            bytes,
            bytes);
    var candidates = new Candidates("quantize", capability);
    candidates.offer(
        machine.microseconds(grid, work, cost.bytes()),
        "%d threads per block of the format".formatted(variant.threadsPerBlock()),
        new Step(
            variant,
            Dim3.of(grid),
            Quantizing.THREADS,
            0,
            Arguments.ofInputs("x").outputs("q").with("blocks", (int) blocks)));
    return candidates.plans(outputs, cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = TensorReader.of(inputs, "x");
    var format = format(attributes);
    int size = format.blockElements();
    return Map.of(
        "q",
        ReferenceOutput.ofRows(
            x.elements() / size,
            size,
            block -> BlockReference.roundTrip(format, floats(x.get(block * size, size)))));
  }

  private static float[] floats(double[] values) {
    var floats = new float[values.length];
    for (int i = 0; i < floats.length; i++) {
      floats[i] = (float) values[i];
    }
    return floats;
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
    for (var rule : BlockRule.ALL) {
      for (var dtype : INPUTS) {
        var inputs = new ArrayList<HostTensor>();
        inputs.add(draw.normal(dtype, 3, 96));
        if (!quick) {
          inputs.add(draw.normal(dtype, 32));
          inputs.add(draw.normal(dtype, 2, 1, 37 * 32));
          inputs.add(draw.special(dtype, 5, 64));
          inputs.add(draw.integers(-3, 3, TensorType.of(dtype, 7, 32)));
        }
        for (var x : inputs) {
          cases.add(
              new Case(
                  Map.of("x", x),
                  Attributes.of(DESCRIPTION, Map.of("format", rule.format().text())),
                  Map.of("q", Tolerance.exact())));
        }
      }
    }
    return cases;
  }

  /**
   * A kernel that quantizes numbers to blocks of 32: {@code x, q, blocks}. A thread encodes a part
   * of a block.
   */
  private record Quantizing(DType format, DType in) implements Variant {

    static final int THREADS = 256;

    /** Returns the number of numbers of a run: what one access loads. */
    private int length() {
      return 16 / in.bytes();
    }

    /** Returns the number of threads per block of the format. */
    int threadsPerBlock() {
      return BlockFormat.parts(format, length());
    }

    @Override
    public String name() {
      return "quantize_%s_%s".formatted(format.text(), in.text());
    }

    @Override
    public Kernel build() {
      return KernelBuilder.build(
          name(),
          THREADS,
          k -> {
            var x = k.input("x", Problems.type(in));
            var q = k.pointer("q", Type.U8);
            var blocks = k.integer("blocks");
            var block =
                k.block()
                    .times(THREADS / threadsPerBlock())
                    .plus(k.thread().div(threadsPerBlock()));
            var part = k.thread().rem(threadsPerBlock());
            var exists = block.lt(blocks);
            var numbers = x.plus(block.wide().times(format.blockElements()));
            var first = BlockFormat.first(format, part, length());
            var runs = new ArrayList<List<Real>>();
            for (int run = 0; run < BlockFormat.runs(format); run++) {
              var at = first.plus(run * BlockFormat.apart(format));
              runs.add(numbers.loadWhere(exists, length(), at).stream().map(Value::widen).toList());
            }
            new BlockEncoder(k, BlockRule.of(format), part, runs)
                .store(q.plus(block.wide().times(format.bytes())), exists);
          });
    }
  }
}
