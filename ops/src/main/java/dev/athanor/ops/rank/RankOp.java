package dev.athanor.ops.rank;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * An op that orders the elements along a dimension, or returns the first ones of the order.
 *
 * @param order the name of the flag for descending order
 */
record RankOp(OpDescription description, Result result, String order) implements SampledOp {

  static final String K = "k";

  private boolean limits() {
    return description.attribute(K).isPresent();
  }

  /** A checked problem: x[outer, n, inner]. */
  private record Problem(int outer, int n, int inner, int k, Map<String, TensorType> outputs) {}

  private Problem problem(TensorType x, Attributes attributes) {
    var shape = x.shape();
    int axis = Checks.axis(attributes, "axis", "x", shape);
    int n = Checks.count("x", shape, shape.extent(axis));
    if (limits() && attributes.integer(K) > n) {
      throw new OpException.InvalidAttribute(
          K,
          "attribute \"k\" is %d but dimension %d of x %s has only %d elements; k must be from 1 to %d"
              .formatted(attributes.integer(K), axis, shape, n, n));
    }
    int kept = limits() ? (int) attributes.integer(K) : n;
    long outer = new Shape(shape.extents().subList(0, axis)).elements();
    long inner = new Shape(shape.extents().subList(axis + 1, shape.rank())).elements();
    Checks.count("x", shape, outer * inner);
    var extents = new ArrayList<>(shape.extents());
    extents.set(axis, (long) kept);
    var outputs = new LinkedHashMap<String, TensorType>();
    for (var output : description.outputs()) {
      var dtype = DType.of(output.dtype()).orElse(x.dtype());
      outputs.put(output.name(), Checks.output(output.name(), dtype, new Shape(extents)));
    }
    return new Problem((int) outer, n, (int) inner, kept, outputs);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return problem(Objects.requireNonNull(inputs.get("x")), attributes).outputs;
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var problem = problem(x, attributes);
    var candidates =
        new Candidates("%s of %s".formatted(description.name(), x.dtype().text()), capability);
    var ranked =
        new RankPlanner.Problem(
            x.dtype(),
            Slot.input("x"),
            problem.outer * problem.inner,
            problem.n,
            problem.inner,
            problem.k,
            attributes.flag(order),
            result,
            result.arguments(problem.outputs.keySet()));
    new RankPlanner(ranked, capability, candidates).planAll();
    return candidates.plans(problem.outputs, Plan.Cost.of(0, inputs, problem.outputs));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var problem = problem(x.type(), attributes);
    var outputs = new LinkedHashMap<String, ReferenceOutput>();
    problem.outputs.forEach((name, type) -> {
      var orders = new Orders(x, problem, attributes.flag(order));
      boolean isIndex = Result.isIndex(name);
      outputs.put(
          name,
          ReferenceOutput.ofElements(
              type.shape().elements(),
              i -> {
                long index = orders.index(i);
                return isIndex ? index : x.get(orders.element(i, index));
              }));
    });
    return outputs;
  }

  /** The order of each row, computed when it is first read and kept for rows read together. */
  private static final class Orders {
    private final HostTensor x;
    private final Problem problem;
    private final boolean descending;
    private final Map<Long, int[]> rows = new LinkedHashMap<>();
    private long outer = -1;

    Orders(HostTensor x, Problem problem, boolean descending) {
      this.x = x;
      this.problem = problem;
      this.descending = descending;
    }

    private static int inOrder(HostTensor x, long a, long b) {
      // adding 0 makes -0 equal to 0
      return x.type().dtype().isFloat()
          ? Double.compare(x.get(a) + 0.0, x.get(b) + 0.0)
          : Long.compare(
              x.type().dtype().readLong(x.data(), a), x.type().dtype().readLong(x.data(), b));
    }

    /** Returns the index in its row of element {@code i} of an output. */
    int index(long i) {
      long inRows = (long) problem.k * problem.inner;
      if (i / inRows != outer) {
        outer = i / inRows;
        rows.clear();
      }
      return rows.computeIfAbsent(i % problem.inner, _ -> order(i))[
          (int) (i % inRows / problem.inner)];
    }

    private int[] order(long i) {
      return IntStream.range(0, problem.n)
          .boxed()
          .sorted((a, b) -> {
            int order = inOrder(x, element(i, a), element(i, b));
            return descending ? -order : order;
          })
          .limit(problem.k)
          .mapToInt(each -> each)
          .toArray();
    }

    /** Returns the row-major index of an element of the row of element {@code i} of an output. */
    long element(long i, long index) {
      long row = i / ((long) problem.k * problem.inner);
      return (row * problem.n + index) * problem.inner + i % problem.inner;
    }
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
    var dtypes = description.inputs().getFirst().dtypes().stream().sorted().toList();
    for (var dtype : quick ? List.of(DType.F32, DType.I64) : dtypes) {
      cases.add(make(random, -1, 7, drawn(draw, dtype, 5, 33)));
      cases.add(make(random, 0, 100, drawn(draw, dtype, 100, 3)));
      cases.add(make(random, -1, 1, draw.integers(-9, 9, TensorType.of(dtype, 3, 300))));
      if (!quick) {
        cases.add(make(random, 1, 1, drawn(draw, dtype, 2, 1, 3)));
        cases.add(make(random, 1, 64, drawn(draw, dtype, 1, 64, 40)));
        cases.add(make(random, -1, 40, drawn(draw, dtype, 2, 1001)));
        cases.add(make(random, -1, 6, drawn(draw, dtype, 2, 2049)));
        cases.add(make(random, -1, 50, drawn(draw, dtype, 20_000)));
        cases.add(make(random, -1, 500, drawn(draw, dtype, 4100)));
        cases.add(make(random, -1, 1000, draw.integers(-50, 50, TensorType.of(dtype, 2, 9000))));
        cases.add(make(random, -1, 3000, drawn(draw, dtype, 8200)));
      }
    }
    return cases;
  }

  /** Draws numbers of the whole range of a dtype. */
  private static HostTensor drawn(Draw draw, DType dtype, long... extents) {
    return dtype.isFloat()
        ? draw.special(dtype, extents)
        : draw.bytes(TensorType.of(dtype, extents));
  }

  private Case make(RandomGenerator random, int axis, int k, HostTensor x) {
    var given = new LinkedHashMap<String, Object>();
    given.put("axis", axis);
    given.put(order, random.nextBoolean());
    if (limits()) {
      given.put(K, k);
    }
    var attributes = Attributes.of(description, given);
    var tolerances = new LinkedHashMap<String, Tolerance>();
    description.outputs().forEach(output -> tolerances.put(output.name(), Tolerance.exact()));
    return new Case(Map.of("x", x), attributes, tolerances);
  }
}
