package dev.athanor.ops.recurrence;

import static dev.athanor.ops.recurrence.LinearAttentionProblem.NEXT;
import static dev.athanor.ops.recurrence.LinearAttentionProblem.STATE;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.ProductDescription;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * Attention without softmax, whose keys and values are summed in a state: linear attention, gated
 * linear attention (arXiv 2312.06635), the state-space duality of Mamba-2 (arXiv 2405.21060), and
 * the delta rule with and without a gate (Gated DeltaNet, arXiv 2412.06464). The update rules are
 * those of ONNX's LinearAttention. The kernel computes the steps in order, so that one call serves
 * both a prompt and the next token.
 */
public final class LinearAttentionOp implements SampledOp {

  private static final String DECAY = "decay";
  private static final String BETA = "beta";

  /** Shared memory that several blocks of a multiprocessor can have. */
  private static final long SHARED_BYTES = 16 << 10;

  private static final long MOST_STEPS = 32;
  private static final int MOST_BYTES = 16;

  /** Instructions per step beside those of its rows: values, reductions and the loop. */
  private static final double STEP_INSTRUCTIONS = 60;

  private static final int OTHER_REGISTERS = 40;

  /** Terms of the sums of which rounding errors are permitted. */
  private static final int TERMS = 1024;

  private static final List<String> CASES =
      List.of(
          "q=[2,5,2,16] k=[2,5,2,16] v=[2,5,2,20] decay=[2,5,2] beta=[2,5,2] state=[2,2,16,20]",
          "q=[1,1,4,40] k=[1,1,2,40] v=[1,1,4,9] decay=[1,1,4] state=[1,4,40,9]",
          "q=[2,3,6,7] k=[2,3,2,7] v=[2,3,2,5] decay=[2,3,2,7] scale=1",
          "q=[1,70,1,64] k=[1,70,1,64] v=[1,70,1,40]",
          "q=[1,33,2,65] k=[1,33,1,65] v=[1,33,2,33] beta=[1,33,2] state=[1,2,65,33] scale=0.5",
          "q=[2,19,3,128] k=[2,19,1,128] v=[2,19,3,17] decay=[2,19,3,128] beta=[2,19,3]"
              + " state=[2,3,128,17]",
          "q=[1,2,1,256] k=[1,2,2,256] v=[1,2,4,5] decay=[1,2,4] state=[1,4,256,5]",
          "q=[1,4,1,1000] k=[1,4,1,1000] v=[1,4,1,3] beta=[1,4,1]",
          "q=[3,2,1,1] k=[3,2,1,1] v=[3,2,1,1] decay=[3,2,1] state=[3,1,1,1]",
          "q=[1,6,16,24] k=[1,6,1,24] v=[1,6,2,70] decay=[1,6,2,24] beta=[1,6,2]");

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "linear-attention",
          "Computes linear attention, with decay and by the delta rule if they are given, and"
              + " carries its state: gated linear attention, Mamba-2 and Gated DeltaNet.",
          List.of(
              new Input(
                  "q",
                  "[B, T, Hq, Dk]",
                  ProductDescription.NUMBERS,
                  false,
                  "the queries; Hq is a multiple or a divisor of Hv; Dk is at most 1024"),
              new Input(
                      "k",
                      "[B, T, Hk, Dk]",
                      ProductDescription.NUMBERS,
                      false,
                      "the keys; Hk divides Hv")
                  .like("q"),
              new Input("v", "[B, T, Hv, Dv]", ProductDescription.NUMBERS, false, "the values")
                  .like("q"),
              new Input(
                      DECAY,
                      "[B, T, Hv] or [B, T, Hv, Dk]",
                      ProductDescription.NUMBERS,
                      true,
                      "the logarithm of the decay, of a head or of each row of its state")
                  .like("q", DType.F32),
              new Input(
                      BETA,
                      "[B, T, Hv]",
                      ProductDescription.NUMBERS,
                      true,
                      "the update rate of the delta rule, which applies if it is given")
                  .like("q", DType.F32),
              new Input(
                      STATE,
                      "[B, Hv, Dk, Dv]",
                      ProductDescription.NUMBERS,
                      true,
                      "the state before the first step; zeros if omitted")
                  .like("q", DType.F32)),
          List.of(
              Attribute.number("scale", "scale factor of the queries; default 1/√Dk")
                  .from(1e-6, 1e6)),
          List.of(
              Output.of("out", "[B, T, H, Dv]", "same as q", "the result; H = max(Hq, Hv)"),
              Output.of(
                  NEXT,
                  "[B, Hv, Dk, Dv]",
                  "same as state",
                  "the state after the last step. Written into the tensor state, it is not"
                      + " copied")),
          "S ← exp(decay[t]) · S, then S ← S + k[t]ᵀ · v[t], or S ← S + beta[t] · k[t]ᵀ · (v[t] −"
              + " k[t] · S) with beta, then out[t] = scale · q[t] · S for each step t of a head, "
              + ProductDescription.SUMS
              + ". Consecutive heads share a head of a tensor that has fewer",
          "2·B·T·Dk·Dv·(Hv + H), and half as many for a decay or as many for beta as for v");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public boolean mayReplace(String input) {
    return input.equals(STATE);
  }

  private static LinearAttentionProblem problem(
      Map<String, TensorType> inputs, Attributes attributes) {
    return LinearAttentionProblem.of(DESCRIPTION, inputs, attributes);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return problem(inputs, attributes).outputs();
  }

  /** The kernel also computes no steps, and products of keys without elements. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, capability);
  }

  @Override
  public List<LaunchPlan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = problem(inputs, attributes);
    var outputs = problem.outputs();
    var cost = Plan.Cost.of(problem.flops(), inputs, outputs);
    var candidates =
        new Candidates(
            "%s of %s".formatted(DESCRIPTION.name(), problem.dtype().text()), capability);
    for (int rows = 8; rows <= 32; rows *= 2) {
      int parts = Integer.highestOneBit(2 * Math.ceilDiv(Math.max(1, problem.keys()), rows) - 1);
      if (parts <= KernelBuilder.WARP && (rows == 8 || problem.keys() > rows / 2)) {
        offer(candidates, problem, rows, parts, Machine.of(capability), cost.bytes());
      }
    }
    var plans = candidates.plans(outputs, cost);
    return problem.stateful()
        ? plans.stream().map(plan -> plan.updating(STATE, NEXT)).toList()
        : plans;
  }

  private static void offer(
      Candidates candidates,
      LinearAttentionProblem problem,
      int rows,
      int parts,
      Machine machine,
      double dramBytes) {
    int bytes = problem.dtype().bytes();
    var variant =
        new LinearAttentionVariant(
            problem.dtype(),
            problem.state(),
            problem.stateful(),
            problem.decay(),
            problem.perKey(),
            problem.beta(),
            rows,
            parts,
            Math.min(Integer.lowestOneBit(Math.max(1, problem.keys())), MOST_BYTES / bytes));
    int queries = problem.queries();
    long steps =
        Math.clamp(
            SHARED_BYTES / variant.sharedBytes(queries, 1),
            1,
            Math.clamp((long) problem.length(), 1, MOST_STEPS));
    int tiles = Math.ceilDiv(problem.values(), variant.columns());
    long heads = (long) problem.batch() * problem.heads();
    long blocks = heads * tiles;
    long shared = variant.sharedBytes(queries, steps);
    if (blocks > Integer.MAX_VALUE || shared > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(),
          "requires %d blocks with %d bytes of shared memory each".formatted(blocks, shared));
      return;
    }
    var arguments =
        Arguments.ofInputs("q", "k", "v")
            .with(problem.decay().isPresent() ? Arguments.ofInputs(DECAY) : Arguments.NONE)
            .with(problem.beta().isPresent() ? Arguments.ofInputs(BETA) : Arguments.NONE)
            .outputs("out", NEXT)
            .with("length", problem.length())
            .with("keys", problem.keys())
            .with("values", problem.values())
            .with("heads", problem.heads())
            .with("tiles", tiles)
            .with("queries", queries)
            .with("perKeyHead", problem.heads() / problem.keyHeads())
            .with("perQueryHead", problem.outHeads() / problem.queryHeads())
            .with("steps", (int) steps)
            .with(
                "scale",
                problem.dtype() == DType.F64
                    ? Slot.of(problem.scale())
                    : Slot.of((float) problem.scale()));
    double length = problem.length();
    double perRow =
        2 + (problem.decay().isPresent() ? 1 : 0) + (problem.beta().isPresent() ? 1 : 0) + queries;
    double warps = LinearAttentionVariant.THREADS / (double) KernelBuilder.WARP;
    double ofState = (double) variant.columns() * problem.keys() * problem.state().bytes();
    double ofSteps =
        length
            * bytes
            * ((1.0 + queries + (problem.perKey() ? 1 : 0)) * problem.keys()
                + (1.0 + queries) * variant.columns());
    double chunks = Math.ceil(length / steps);
    // the state and the keys, and the addresses of the state until it is stored
    int registers =
        rows * (2 * words(problem.dtype()) + (problem.stateful() ? 2 : 0)) + OTHER_REGISTERS;
    var work =
        new BlockWork(
            LinearAttentionVariant.THREADS,
            registers,
            (int) shared,
            machine.issueCycles(warps * length * (rows * perRow + STEP_INSTRUCTIONS)),
            machine.latency() + chunks * (machine.latency() + 2 * Machine.BARRIER_CYCLES),
            (problem.stateful() ? 2 : 1) * ofState + ofSteps,
            Math.max(ofState, (double) LinearAttentionVariant.THREADS * MOST_BYTES));
    candidates.offer(
        machine.microseconds(blocks, work, dramBytes),
        "%d blocks of %d columns, %d steps at once".formatted(blocks, variant.columns(), steps),
        new Step(
            variant,
            Dim3.of((int) blocks),
            LinearAttentionVariant.THREADS,
            (int) shared,
            arguments));
  }

  private static int words(DType dtype) {
    return dtype == DType.F64 ? 2 : 1;
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return LinearAttentionReference.of(problem(HostTensor.types(inputs), attributes), inputs);
  }

  /**
   * Draws keys of about unit length, decays below 1 and update rates, so that states are bounded.
   */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    double deviation = 1 / Math.sqrt(Math.max(1, problem(inputs, attributes).keys()));
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name,
            switch (name) {
              case "k" -> draw.normal(0, deviation, type);
              case DECAY -> draw.uniform(-0.5, 0, type);
              case BETA -> draw.uniform(0, 1, type);
              default -> draw.usual(type);
            }));
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return ProductDescription.tolerance(dtype, TERMS);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var cases = new ArrayList<Case>();
    var types = List.of("f32", "f16", "bf16", "f64");
    for (var text : quick ? CASES.subList(0, 3) : CASES) {
      for (int i = 0; i < (quick ? 1 : types.size()); i++) {
        var dtype = types.get(cases.size() % types.size());
        var typed = text.replace("=[", "=%s[".formatted(dtype));
        if (cases.size() % 3 == 1 && !dtype.equals("f64")) {
          typed = typed.replaceAll("(decay|beta|state)=\\w+", "$1=f32");
        }
        var problem = Problem.parse(this, typed);
        var tolerances = new LinkedHashMap<String, Tolerance>();
        problem(problem.inputs(), problem.attributes())
            .outputs()
            .forEach((name, type) ->
                tolerances.put(
                    name, tolerance(name, type.dtype(), problem.inputs(), problem.attributes())));
        cases.add(new Case(problem.draw(random), problem.attributes(), tolerances));
      }
    }
    return cases;
  }
}
