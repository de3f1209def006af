package dev.athanor.ops.rank;

import dev.athanor.engine.device.Capability;
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
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.rank.RankPlanner.Runs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Finds the rows that score best for each query, by a scan of all rows. */
final class SearchOp implements SampledOp {

  /** Maximum number of results. */
  private static final int MOST = 1024;

  /** Queries per block; a block scores fewer rows for more queries. */
  private static final int TILE = 4;

  /** Instructions per product: convert and combine. */
  private static final double INSTRUCTIONS = 2;

  private static final Set<DType> FLOATS = Set.of(DType.F16, DType.BF16, DType.F32);

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "search",
          "Finds the k rows that are most similar to each query, by a scan of all rows.",
          List.of(
              new Input("queries", "[Q, D]", FLOATS, false, "the queries"),
              new Input("rows", "[N, D]", FLOATS, false, "the rows to search").like("queries"),
              new Input("mask", "[N]", Set.of(DType.BOOL, DType.U8), true, "0 excludes a row")),
          List.of(
              Attribute.integer("k", "number of rows to return per query, at most N")
                  .from(1, MOST)
                  .asRequired(),
              Attribute.choice(
                  "metric",
                  "dot",
                  Stream.of(Metric.values()).map(Metric::text).toList(),
                  "similarity: dot product, cosine, or l2, the squared Euclidean distance")),
          List.of(
              Output.of("scores", "[Q, k]", "f32", "the scores, the best first"),
              Output.of("indices", "[Q, k]", "i64", "the indices of the rows")),
          "scores[q, j] = the score of queries[q] and rows[indices[q, j]], computed in f32: the"
              + " greatest k for dot and cosine, the least k for l2. Equal scores are ordered by"
              + " index; NaN counts as the greatest score. The cosine with a zero vector is 0."
              + " Where the mask leaves fewer than k rows, the index is −1 and the score is −∞, or"
              + " ∞ for l2",
          "2·Q·N·D");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  /** A checked problem. */
  private record Problem(
      BoundInputs call, Metric metric, int queries, int rows, int depth, int kept) {

    static Problem of(Map<String, TensorType> inputs, Attributes attributes) {
      var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
      var shape = call.type("rows").shape();
      int rows = Checks.count("rows", shape, call.extent("N"));
      long kept = attributes.integer("k");
      if (kept > rows) {
        throw new OpException.InvalidAttribute(
            "k",
            "attribute \"k\" is %d but rows has shape %s; k must be from 1 to %d"
                .formatted(kept, shape, Math.min(rows, MOST)));
      }
      return new Problem(
          call,
          Metric.of(attributes.choice("metric")),
          Checks.count("queries", call.type("queries").shape(), call.extent("Q")),
          rows,
          Checks.count("rows", shape, call.extent("D")),
          (int) kept);
    }

    DType dtype() {
      return call.dtype("queries");
    }

    Map<String, TensorType> outputs() {
      var outputs = new LinkedHashMap<String, TensorType>();
      for (var output : DESCRIPTION.outputs()) {
        var dtype = DType.of(output.dtype()).orElseThrow();
        outputs.put(output.name(), TensorType.of(dtype, queries, kept));
      }
      return outputs;
    }
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Problem.of(inputs, attributes).outputs();
  }

  /** The scores of vectors of no elements are those of zeros. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var problem = Problem.of(inputs, attributes);
    var candidates = new Candidates("search of " + problem.dtype().text(), capability);
    offer(problem, 1, capability, candidates);
    if (problem.queries > 1) {
      offer(problem, TILE, capability, candidates);
    }
    var outputs = problem.outputs();
    double flops = 2.0 * problem.queries * problem.rows * problem.depth;
    return candidates.plans(outputs, Plan.Cost.of(flops, inputs, outputs));
  }

  private static void offer(
      Problem problem, int tile, Capability capability, Candidates candidates) {
    var planner =
        new RankPlanner(
            new RankPlanner.Problem(
                DType.F32,
                Slot.input("rows"),
                problem.queries,
                problem.rows,
                1,
                problem.kept,
                problem.metric.descends(),
                Result.SCORES_INDICES,
                Result.SCORES_INDICES.arguments(problem.outputs().keySet())),
            capability,
            candidates);
    boolean masked = problem.call.has("mask");
    int chunk = SharedSort.CAPACITY / tile;
    var left = new Runs(problem.rows, 1).kept(chunk, problem.kept);
    int vector = (int) Math.min(16 / problem.dtype().bytes(), Long.lowestOneBit(problem.depth));
    var variant =
        new SearchVariant(
            problem.dtype(), problem.metric, tile, vector, masked, planner.result(left));
    int tiles = Math.ceilDiv(problem.queries, tile);
    var arguments =
        Arguments.ofInputs("queries", "rows")
            .with("count", problem.queries)
            .with("depth", problem.depth)
            .with("tiles", tiles)
            .with("kept", left.run());
    if (masked) {
      arguments = arguments.inputs("mask");
    }
    long blocks = (long) tiles * Math.ceilDiv(problem.rows, chunk);
    planner.add(
        variant,
        blocks,
        RankPlanner.sortInstructions(chunk) + INSTRUCTIONS * SharedSort.CAPACITY * problem.depth,
        (double) problem.rows * problem.depth * problem.dtype().bytes() * tiles,
        arguments,
        left);
    planner.finish(left);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var problem = Problem.of(HostTensor.types(inputs), attributes);
    var outputs = new LinkedHashMap<String, ReferenceOutput>();
    for (var name : problem.outputs().keySet()) {
      outputs.put(
          name,
          ReferenceOutput.ofRows(
              problem.queries,
              problem.kept,
              query -> results(inputs, problem, query, Result.isIndex(name))));
    }
    return outputs;
  }

  private static double[] results(
      Map<String, HostTensor> inputs, Problem problem, long query, boolean indices) {
    var queries = Objects.requireNonNull(inputs.get("queries"));
    var rows = Objects.requireNonNull(inputs.get("rows"));
    var mask = inputs.get("mask");
    int depth = problem.depth;
    var vector = queries.toDoubles(query * depth, depth);
    var scores = new float[problem.rows];
    for (int row = 0; row < scores.length; row++) {
      // adding 0 makes -0 equal to 0
      scores[row] = problem.metric.score(vector, rows.toDoubles((long) row * depth, depth)) + 0f;
    }
    boolean descends = problem.metric.descends();
    var order = Comparator.<Integer>comparingDouble(row -> scores[row]);
    var found =
        IntStream.range(0, scores.length)
            .filter(row -> mask == null || mask.get(row) != 0)
            .boxed()
            .sorted(descends ? order.reversed() : order)
            .limit(problem.kept)
            .toList();
    double none = descends ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY;
    return IntStream.range(0, problem.kept)
        .mapToDouble(j ->
            j >= found.size()
                ? (indices ? -1 : none)
                : indices ? found.get(j) : scores[found.get(j)])
        .toArray();
  }

  /** Draws small integers, with which the scores, and thus the order, are exact. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name, name.equals("mask") ? draw.integers(0, 1, type) : draw.integers(-4, 4, type)));
    return drawn;
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
    for (var metric : Metric.values()) {
      for (var dtype : quick ? List.of(DType.F16) : FLOATS.stream().sorted().toList()) {
        cases.add(make(draw, metric, dtype, 5, 700, 24, 9, true));
        if (!quick) {
          cases.add(make(draw, metric, dtype, 1, 1, 1, 1, false));
          cases.add(make(draw, metric, dtype, 1, 300, 7, 300, true));
          cases.add(make(draw, metric, dtype, 2, 5000, 6, 1024, false));
          cases.add(make(draw, metric, dtype, 1, 9000, 64, 100, false));
          cases.add(make(draw, metric, dtype, 3, 2600, 36, 700, true));
          cases.add(make(draw, metric, dtype, 9, 130, 768, 10, false));
        }
      }
    }
    return cases;
  }

  private Case make(
      Draw draw, Metric metric, DType dtype, int q, int n, int d, int k, boolean masked) {
    var types = new LinkedHashMap<String, TensorType>();
    types.put("queries", TensorType.of(dtype, q, d));
    types.put("rows", TensorType.of(dtype, n, d));
    if (masked) {
      types.put("mask", TensorType.of(n % 2 == 0 ? DType.BOOL : DType.U8, n));
    }
    var attributes = Attributes.of(DESCRIPTION, Map.of("k", k, "metric", metric.text()));
    return new Case(
        draw(types, attributes, draw),
        attributes,
        Map.of("scores", Tolerance.exact(), "indices", Tolerance.exact()));
  }
}
