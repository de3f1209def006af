package dev.athanor.ops.rank;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * Draws a token from the distribution of each row of logits by the Gumbel-max method. Without topK
 * and topP, one launch reads the logits, which another may penalize before. Otherwise top-k sorts
 * the candidates, or all tokens if only topP is given, and another launch chooses from them.
 */
final class SampleOp implements SampledOp {

  private static final Set<DType> FLOATS = Set.of(DType.F16, DType.BF16, DType.F32);

  /** The least temperature above 0; with lower ones, usual logits overflow. */
  private static final double LEAST_TEMPERATURE = 1e-6;

  /** Instructions of a thread per logit: a quarter of the generator, and two logarithms. */
  private static final double NOISE_INSTRUCTIONS = 120;

  /** Instructions of a thread per logit that is penalized, most of them for the division. */
  private static final double PENALTY_INSTRUCTIONS = 30;

  private static final int REGISTERS = 56;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "sample",
          "Draws a token from the softmax of each row of logits, after penalties, temperature, top-k,"
              + " top-p and min-p.",
          List.of(
              new Input("logits", "[B, V]", FLOATS, false, "the logits of each token"),
              new Input(
                  "seed",
                  "[] or [B]",
                  Set.of(DType.I64),
                  false,
                  "the key of the random numbers, one for all rows or one for each"),
              new Input(
                  "counter",
                  "[] or [B]",
                  Set.of(DType.I64),
                  true,
                  "the position of the token in its sequence, with as many dimensions as seed; 0 if omitted"),
              new Input(
                  Penalties.COUNTS,
                  "[B, V]",
                  Set.of(DType.I32),
                  true,
                  "how often each token has occurred; required by the penalties")),
          Stream.concat(
                  Stream.of(
                      Attribute.number(
                              "temperature", 1, "divides the logits; 0 returns the greatest logit")
                          .from(0, Double.POSITIVE_INFINITY),
                      Attribute.integer("topK", 0, "number of greatest logits to keep; 0 keeps all")
                          .from(0, Integer.MAX_VALUE),
                      Attribute.number(
                              "topP",
                              1,
                              "keeps the fewest most probable tokens whose probabilities reach this sum;"
                                  + " without topK, this sorts all V logits")
                          .from(0, 1),
                      Attribute.number(
                              "minP",
                              0,
                              "keeps tokens with at least this fraction of the greatest probability")
                          .from(0, 1)),
                  Penalties.ATTRIBUTES.stream())
              .toList(),
          List.of(Output.of("token", "[B]", "i64", "the index of the token")),
          "token[b] = argmaxᵥ logits[b, v] / temperature − ln(−ln uᵥ) over the tokens that topK, then"
              + " topP, then minP keep; the most probable token is always kept. uᵥ = (w + ½) / 2³²,"
              + " where w is word v mod 4 of Philox-4x32-10 with the key seed[b] and the counter"
              + " (⌊v / 4⌋, counter[b]). Rows with equal seeds and counters use the same random"
              + " numbers, and the result does not depend on B or the device. Equal scores are ordered"
              + " by index, and a NaN counts as the greatest logit. Where counts[b, v] > 0, the logit l is"
              + " first replaced by (l > 0 ? l / repetitionPenalty : l · repetitionPenalty) −"
              + " frequencyPenalty · counts[b, v] − presencePenalty, in f32",
          "0");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  /**
   * The numbers that the kernels use.
   *
   * @param scale the reciprocal of the temperature; 0 for the greatest logit
   * @param topK number of candidates, at most V
   */
  record Settings(float scale, int topK, double topP, float logMinP) {

    static Settings of(Attributes attributes, int length) {
      double temperature = attributes.number("temperature");
      if (temperature > 0
          && (temperature < LEAST_TEMPERATURE || temperature > 1 / LEAST_TEMPERATURE)) {
        throw new OpException.InvalidAttribute(
            "temperature",
            "attribute \"temperature\" is %s; it must be 0, or from 1e-6 to 1e6"
                .formatted(temperature));
      }
      long topK = attributes.integer("topK");
      return new Settings(
          temperature > 0 ? (float) (1 / temperature) : 0,
          (int) (topK == 0 ? length : Math.min(topK, length)),
          attributes.number("topP"),
          (float) StrictMath.log(attributes.number("minP")));
    }

    boolean isGreedy() {
      return scale == 0;
    }

    boolean cuts() {
      return topP < 1;
    }

    boolean hasMinP() {
      return logMinP > Float.NEGATIVE_INFINITY;
    }
  }

  /** A checked problem. */
  private record Problem(
      BoundInputs call, int rows, int length, Settings settings, Penalties penalties) {

    static Problem of(Map<String, TensorType> inputs, Attributes attributes) {
      var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
      var shape = call.type("logits").shape();
      int length = Checks.count("logits", shape, call.extent("V"));
      return new Problem(
          call,
          Checks.count("logits", shape, call.extent("B")),
          length,
          Settings.of(attributes, length),
          Penalties.of(attributes, call.has(Penalties.COUNTS)));
    }

    /** Returns the dtype of the logits after the penalties. */
    DType dtype() {
      return penalties.isNone() ? call.dtype("logits") : DType.F32;
    }

    /** Returns the logits after the penalties. */
    Slot logits() {
      return penalties.isNone() ? Slot.input("logits") : new Slot.Workspace(0);
    }

    boolean counted() {
      return call.has("counter");
    }

    /** Returns the distance between the numbers of two rows. */
    int stride(String input) {
      return call.type(input).shape().rank();
    }

    boolean sorts() {
      return !settings.isGreedy() && (settings.topK < length || settings.cuts());
    }

    /** Returns the arguments of {@link TokenChoice}. */
    Arguments choice() {
      var arguments = Arguments.NONE.outputs("token");
      for (var input : counted() ? List.of("seed", "counter") : List.of("seed")) {
        if (!settings.isGreedy()) {
          arguments = arguments.inputs(input).with(input + "Stride", stride(input));
        }
      }
      return arguments;
    }
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Problem.of(inputs, attributes).call.outputs();
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = Problem.of(inputs, attributes);
    var candidates = new Candidates("sample of " + problem.call.dtype("logits").text(), capability);
    var planner =
        new RankPlanner(
            new RankPlanner.Problem(
                problem.dtype(),
                problem.logits(),
                problem.rows,
                problem.length,
                1,
                problem.settings.topK,
                true,
                Result.ENTRIES,
                Arguments.NONE),
            capability,
            candidates);
    var machine = Machine.of(capability);
    if (!problem.penalties.isNone()) {
      penalize(problem, planner, machine);
    }
    if (problem.sorts()) {
      chooseFromCandidates(problem, planner, machine);
    } else {
      chooseFromAll(problem, planner, machine);
    }
    planner.offer();
    var outputs = problem.call.outputs();
    return candidates.plans(outputs, Plan.Cost.of(0, inputs, outputs));
  }

  private static void penalize(Problem problem, RankPlanner planner, Machine machine) {
    var penalties = problem.penalties;
    var dtype = problem.call.dtype("logits");
    var variant = PenaltyVariant.of(dtype, problem.length);
    int blocks = variant.blocks(problem.length);
    double elements = (double) problem.rows * problem.length;
    int accessed = dtype.bytes() + Integer.BYTES + Float.BYTES;
    int each = PenaltyVariant.THREADS * variant.vector();
    planner.addFirst(
        variant,
        (long) problem.rows * blocks,
        new BlockWork(
            PenaltyVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(PENALTY_INSTRUCTIONS * each / KernelBuilder.WARP),
            0,
            (double) each * accessed,
            (double) each * (dtype.bytes() + Integer.BYTES)),
        elements * accessed,
        Arguments.ofInputs("logits", Penalties.COUNTS)
            .with("penalized", problem.logits())
            .with("length", problem.length)
            .with("blocks", blocks)
            .with("repetition", penalties.repetition())
            .with("frequency", penalties.frequency())
            .with("presence", penalties.presence()),
        (long) problem.rows * problem.length * Float.BYTES);
  }

  private static void chooseFromAll(Problem problem, RankPlanner planner, Machine machine) {
    var settings = problem.settings;
    var mode =
        settings.isGreedy()
            ? SampleVariant.Mode.GREEDY
            : settings.hasMinP() ? SampleVariant.Mode.MIN_P : SampleVariant.Mode.ALL;
    var dtype = problem.dtype();
    var variant = SampleVariant.of(dtype, problem.length, mode, problem.counted());
    var arguments =
        problem
            .choice()
            .with("logits", problem.logits())
            .with("length", problem.length)
            .with("scale", settings.scale);
    if (mode == SampleVariant.Mode.MIN_P) {
      arguments = arguments.with("logMinP", settings.logMinP);
    }
    double bytes = (double) problem.length * dtype.bytes();
    var work = work(machine, SampleVariant.THREADS, problem.length, bytes);
    planner.add(variant, problem.rows, work, problem.rows * bytes, arguments);
  }

  private static void chooseFromCandidates(Problem problem, RankPlanner planner, Machine machine) {
    var settings = problem.settings;
    var arguments =
        planner
            .planEntries()
            .with(problem.choice())
            .with("length", settings.topK)
            .with("each", Math.ceilDiv(settings.topK, CandidatesVariant.THREADS))
            .with("scale", settings.scale)
            .with("logMinP", settings.logMinP);
    if (settings.cuts()) {
      arguments = arguments.with("topP", settings.topP);
    }
    double bytes = (double) settings.topK * Long.BYTES;
    var work = work(machine, CandidatesVariant.THREADS, settings.topK, bytes);
    var variant = new CandidatesVariant(settings.cuts(), problem.counted());
    planner.add(variant, problem.rows, work, problem.rows * bytes, arguments);
  }

  private static BlockWork work(Machine machine, int threads, int length, double bytes) {
    return new BlockWork(
        threads,
        REGISTERS,
        0,
        machine.issueCycles(NOISE_INSTRUCTIONS * length / KernelBuilder.WARP),
        Machine.BARRIER_CYCLES,
        bytes,
        (double) threads * Long.BYTES);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var problem = Problem.of(HostTensor.types(inputs), attributes);
    return Map.of(
        "token",
        ReferenceOutput.ofElements(
            problem.rows,
            row ->
                SampleReference.token(
                    penalized(inputs, problem, row),
                    problem.settings,
                    number(inputs, problem, "seed", row),
                    problem.counted() ? number(inputs, problem, "counter", row) : 0)));
  }

  /** Returns the logits of a row after the penalties. */
  private static double[] penalized(Map<String, HostTensor> inputs, Problem problem, long row) {
    long first = row * problem.length;
    var logits = Objects.requireNonNull(inputs.get("logits")).toDoubles(first, problem.length);
    var counts = inputs.get(Penalties.COUNTS);
    if (counts != null) {
      Arrays.setAll(
          logits,
          i ->
              problem.penalties.apply(
                  (float) logits[i], DType.I32.readLong(counts.data(), first + i)));
    }
    return logits;
  }

  private static long number(
      Map<String, HostTensor> inputs, Problem problem, String input, long row) {
    var tensor = Objects.requireNonNull(inputs.get(input));
    return DType.I64.readLong(tensor.data(), row * problem.stride(input));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return SampleCases.of(DESCRIPTION, FLOATS, random, quick);
  }
}
