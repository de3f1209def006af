package dev.athanor.ops.recurrence;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * A causal depthwise convolution of a sequence with a carried state, as ONNX's CausalConvWithState
 * and the convolution before a state-space layer (Mamba, arXiv 2312.00752, section 3.4).
 */
public final class CausalConvolutionOp implements SampledOp {

  private static final String STATE = "state";
  private static final String NEXT = "next";

  /** Instructions per position and tap, and per position. */
  private static final double TAP_INSTRUCTIONS = 4;

  private static final double POSITION_INSTRUCTIONS = 16;
  private static final int REGISTERS = 48;
  private static final int MOST_BYTES = 16;

  /** Positions of a part of a row, in multiples of those that a team computes at a time. */
  private static final long ROUNDS = 4;

  private static final int MOST_PARTS = 65_535;

  private static final List<String> CASES =
      List.of(
          "x=[2,5,1] weight=[5,4] bias=[5] state=[2,5,3] activation=silu",
          "x=[3,50,2] weight=[50,4] state=[3,50,3]",
          "x=[2,3,40] weight=[3,4] bias=[3] activation=silu",
          "x=[1,2,33] weight=[2,3] state=[1,2,2] activation=gelu",
          "x=[2,70,7] weight=[70,11] bias=[70] state=[2,70,10] activation=relu",
          "x=[1,3,1] weight=[3,1] bias=[3]",
          "x=[1,2,520] weight=[2,1]",
          "x=[1,2,4100] weight=[2,4] bias=[2] state=[1,2,3] activation=silu",
          "x=[1,1,2080] weight=[1,1100] state=[1,1,1099]",
          "x=[130,1,24] weight=[1,2] state=[130,1,1] activation=gelu-tanh");

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "causal-convolution",
          "Convolves each channel of a sequence with its own weights, over elements up to the same"
              + " position, and carries the last ones as a state.",
          List.of(
              new Input(
                  "x", "[B, C, L]", ProductDescription.NUMBERS, false, "the newest L elements"),
              new Input(
                      "weight",
                      "[C, T]",
                      ProductDescription.NUMBERS,
                      false,
                      "the weights of each channel; the last is that of the same position")
                  .or("w")
                  .like("x"),
              new Input("bias", "[C]", ProductDescription.NUMBERS, true, "the bias of each channel")
                  .like("x"),
              new Input(
                      STATE,
                      "[B, C, S]",
                      ProductDescription.NUMBERS,
                      true,
                      "the S = T − 1 elements before x; zeros if omitted")
                  .like("x")),
          List.of(
              Attribute.choice(
                  "activation",
                  "none",
                  Activation.names(Activation.EPILOGUES),
                  "activation function, applied after the bias")),
          List.of(
              Output.of("y", "[B, C, L]", "same as x", "the result"),
              Output.of(
                  NEXT,
                  "[B, C, S]",
                  "same as x",
                  "the last T − 1 elements of state and x, for the next call. Written into the"
                      + " tensor state, nothing else is copied")),
          "y[b, c, l] = activation(Σ weight[c, t] · z[b, c, l + t] + bias[c]) over the taps t,"
              + " where z is state followed by x along the last dimension, "
              + ProductDescription.SUMS
              + "; next[b, c, s] = z[b, c, L + s]",
          "2·B·C·L·T");

  /** A valid call. */
  private record Call(
      BoundInputs bound, Activation activation, int batch, int channels, int length, int taps) {

    static Call of(Map<String, TensorType> inputs, Attributes attributes) {
      var bound = BoundInputs.of(DESCRIPTION, inputs, attributes);
      var x = bound.type("x");
      var weight = bound.type("weight");
      if (bound.extent("T") == 0) {
        throw new OpException.ShapeMismatch(
            "weight",
            "input \"weight\" has shape %s; each channel must have at least one weight"
                .formatted(weight.shape()));
      }
      if (bound.has(STATE) && bound.extent("S") != bound.extent("T") - 1) {
        throw new OpException.ShapeMismatch(
            STATE,
            "state has shape %s but weight has %s; state must have %d elements per channel, one less than weight"
                .formatted(bound.type(STATE).shape(), weight.shape(), bound.extent("T") - 1));
      }
      var activation = Activation.of(attributes.choice("activation"));
      if (x.dtype() == DType.F64
          && activation != Activation.NONE
          && activation != Activation.RELU) {
        throw new OpException.InvalidAttribute(
            "activation",
            "activation %s is not supported for f64; use none or relu"
                .formatted(activation.text()));
      }
      return new Call(
          bound,
          activation,
          Checks.requireExtent("x", x, bound.extent("B")),
          Checks.requireExtent("x", x, bound.extent("C")),
          Checks.requireExtent("x", x, bound.extent("L")),
          Checks.requireExtent("weight", weight, bound.extent("T")));
    }

    DType dtype() {
      return bound.dtype("x");
    }

    /** Returns whether there are previous elements. */
    boolean stateful() {
      return bound.has(STATE) && taps > 1;
    }

    Map<String, TensorType> outputs() {
      var outputs = new LinkedHashMap<String, TensorType>();
      outputs.put("y", bound.type("x"));
      outputs.put(NEXT, Checks.output(NEXT, dtype(), Shape.of(batch, channels, taps - 1)));
      return outputs;
    }
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public boolean mayReplace(String input) {
    return input.equals(STATE);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Call.of(inputs, attributes).outputs();
  }

  /** The kernel also moves a state by no elements, and there may be no previous ones. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, capability);
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = Call.of(inputs, attributes);
    var dtype = call.dtype();
    boolean biased = call.bound.has("bias");
    int vector =
        Math.min(Integer.lowestOneBit(Math.max(1, call.length)), MOST_BYTES / dtype.bytes());
    int accesses = Math.max(1, call.length / vector);
    int team = Math.min(CausalConvolutionVariant.THREADS, Integer.highestOneBit(2 * accesses - 1));
    var variant =
        new CausalConvolutionVariant(
            dtype,
            call.activation,
            biased,
            call.stateful(),
            team,
            vector,
            call.taps <= CausalConvolutionVariant.MOST_UNROLLED ? call.taps : 0);
    long rows = (long) call.batch * call.channels;
    Checks.count("x", call.bound.type("x").shape(), rows);
    long span = span(call, variant);
    long parts = Math.max(1, Math.ceilDiv(call.length, span));
    int teams = CausalConvolutionVariant.THREADS / team;
    long rowBlocks = Math.ceilDiv(rows, teams);
    var arguments =
        Arguments.ofInputs("x", "weight")
            .with(biased ? Arguments.ofInputs("bias") : Arguments.NONE)
            .outputs("y", NEXT)
            .with("rows", (int) rows)
            .with("channels", call.channels)
            .with("length", call.length)
            .with("span", (int) Math.min(Integer.MAX_VALUE, span))
            .with("taps", call.taps);
    var outputs = call.outputs();
    var cost = Plan.Cost.of(2.0 * rows * call.length * call.taps, inputs, outputs);
    var machine = Machine.of(capability);
    double ofBlock = (double) Math.min(span, call.length) * teams;
    double bytes = 2 * ofBlock * dtype.bytes();
    var work =
        new BlockWork(
            CausalConvolutionVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(
                ofBlock
                    * (POSITION_INSTRUCTIONS + TAP_INSTRUCTIONS * call.taps)
                    / KernelBuilder.WARP),
            machine.latency() + Machine.BARRIER_CYCLES,
            bytes,
            (double) CausalConvolutionVariant.THREADS * vector * dtype.bytes());
    var step =
        new Step(
            variant,
            new Dim3((int) rowBlocks, (int) parts, 1),
            CausalConvolutionVariant.THREADS,
            0,
            arguments);
    var plans =
        new Candidates("%s of %s".formatted(DESCRIPTION.name(), dtype.text()), capability)
            .offer(
                machine.microseconds(rowBlocks * parts, work, cost.bytes()),
                "%d blocks".formatted(rowBlocks * parts),
                step)
            .plans(outputs, cost);
    return call.stateful()
        ? plans.stream().map(plan -> plan.updating(STATE, NEXT)).toList()
        : plans;
  }

  /** Returns the positions of a part of a row; the first part has all windows with the state. */
  private static long span(Call call, CausalConvolutionVariant variant) {
    long positions = variant.positions();
    long least = Math.max(call.taps - 1L, Math.ceilDiv((long) call.length, MOST_PARTS));
    return positions * Math.max(ROUNDS, Math.ceilDiv(least, positions));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var call = Call.of(HostTensor.types(inputs), attributes);
    var x = TensorReader.of(inputs, "x");
    var weight = TensorReader.of(inputs, "weight");
    var bias = TensorReader.of(inputs, "bias", 0);
    var state = TensorReader.of(inputs, STATE, 0);
    int before = call.taps - 1;
    Element z =
        (row, at) ->
            at < before
                ? state.applyAsDouble(row * before + at)
                : x.get(row * call.length + at - before);
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            call.bound.type("x").shape().elements(),
            index -> {
              long row = index / call.length;
              long channel = row % call.channels;
              double sum = bias.applyAsDouble(channel);
              for (int tap = 0; tap < call.taps; tap++) {
                sum += weight.get(channel * call.taps + tap) * z.at(row, index % call.length + tap);
              }
              return call.activation.apply(sum);
            }),
        NEXT,
        ReferenceOutput.ofElements(
            (long) call.batch * call.channels * before,
            index -> z.at(index / before, call.length + index % before)));
  }

  /** An element of a row of the state followed by x. */
  @FunctionalInterface
  private interface Element {
    double at(long row, long position);
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return output.equals(NEXT)
        ? Tolerance.exact()
        : ProductDescription.tolerance(dtype, Math.max(16, Call.of(inputs, attributes).taps));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var dtypes = List.of(DType.F32, DType.F16, DType.BF16, DType.F64);
    var cases = new ArrayList<Case>();
    for (var text : quick ? CASES.subList(0, 3) : CASES) {
      for (int i = 0; i < (quick ? 1 : dtypes.size()); i++) {
        var dtype = dtypes.get(cases.size() % dtypes.size());
        var typed = text.replace("=[", "=%s[".formatted(dtype.text()));
        if (dtype == DType.F64) {
          typed = typed.replaceAll("activation=\\S+", "activation=relu");
        }
        var problem = Problem.parse(this, typed);
        var tolerances = new LinkedHashMap<String, Tolerance>();
        for (var output : List.of("y", NEXT)) {
          tolerances.put(output, tolerance(output, dtype, problem.inputs(), problem.attributes()));
        }
        cases.add(
            new Case(
                new Problem(this, problem.inputs(), problem.attributes()).draw(random),
                problem.attributes(),
                tolerances));
      }
    }
    return cases;
  }
}
