package dev.athanor.ops.reduce;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
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
import dev.athanor.ops.reduce.ReduceVariant.Layout;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import dev.athanor.ops.reference.TensorReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.random.RandomGenerator;

/**
 * An op that reduces all numbers along a dimension to one.
 *
 * @param reduction returns the reduction for the attributes of a call
 */
record ReduceOp(OpDescription description, Function<Attributes, Reduction> reduction)
    implements SampledOp {

  static final String AXIS = "axis";

  /** The attribute of the dtype of y, for reductions that change the dtype. */
  static final String OUT = "outDtype";

  /** Instructions per element: convert and combine. */
  private static final double INSTRUCTIONS = 3;

  /** Registers per thread. */
  private static final int REGISTERS = 40;

  private static final int ALIGNMENT = 256;

  /** A checked reduction of x[outer, n, inner]. */
  private record Problem(
      Reduction reduction, DType in, TensorType output, int outer, int n, int inner) {

    int vector() {
      int widest = 16 / in.bytes();
      return (int) Math.min(widest, Long.lowestOneBit(inner == 1 ? n : inner));
    }

    Problem of(Reduction other) {
      return new Problem(other, in, output, outer, n, inner);
    }

    ReduceVariant variant(Layout layout, boolean from, boolean to) {
      return new ReduceVariant(
          reduction, in, output.dtype(), layout, from, to, from ? 1 : vector());
    }
  }

  private Problem problem(TensorType x, Attributes attributes) {
    var shape = x.shape();
    int axis = Checks.axis(attributes, AXIS, "x", shape);
    var kept = new ArrayList<>(shape.extents());
    kept.remove(axis);
    var out = DType.of(attributes.choice(OUT)).orElse(x.dtype());
    return new Problem(
        reduction.apply(attributes),
        x.dtype(),
        Checks.output("y", out, new Shape(kept)),
        Checks.count("x", shape, product(shape.extents().subList(0, axis))),
        Checks.count("x", shape, shape.extent(axis)),
        Checks.count("x", shape, product(shape.extents().subList(axis + 1, shape.rank()))));
  }

  private static long product(List<Long> extents) {
    return new Shape(extents).elements();
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var problem = problem(x, attributes);
    var outputs = Map.of("y", problem.output);
    var candidates =
        new Candidates("%s of %s".formatted(description.name(), x.dtype().text()), capability);
    var layouts = problem.inner == 1 ? List.of(Layout.WARP, Layout.BLOCK) : List.of(Layout.COLUMNS);
    for (var layout : layouts) {
      whole(problem, layout, capability, candidates);
    }
    split(problem, layouts.getLast(), capability, candidates);
    return candidates.plans(outputs, Plan.Cost.of((double) x.shape().elements(), inputs, outputs));
  }

  /** Offers one launch, in which a warp or a block reduces all of n. */
  private static void whole(
      Problem problem, Layout layout, Capability capability, Candidates candidates) {
    var variant = problem.variant(layout, false, false);
    long blocks = variant.blocks(problem.outer, problem.inner, 1);
    if (!canRun(blocks, variant, candidates)) {
      return;
    }
    candidates.offer(
        microseconds(variant, problem, blocks, problem.n, Machine.of(capability)),
        "%d blocks".formatted(blocks),
        step(
            variant,
            problem,
            problem.n,
            problem.n,
            1,
            List.of(Slot.input("x")),
            List.of(Slot.output("y"))));
  }

  /**
   * Offers two launches: the first reduces enough segments of n to fill the device, the second
   * merges their states.
   */
  private static void split(
      Problem problem, Layout layout, Capability capability, Candidates candidates) {
    var first = problem.of(problem.reduction.partial()).variant(layout, false, true);
    long blocks = first.blocks(problem.outer, problem.inner, 1);
    long wanted = Math.ceilDiv(2L * capability.multiprocessors(), blocks);
    long most = Math.ceilDiv(problem.n, Math.max(1, first.round() / first.depth()));
    long pieces = Math.min(wanted, most);
    if (pieces < 2) {
      candidates.refuse(
          first.name(),
          "the device is fully occupied without splitting, or the dimension is too short"
              + " to split");
      return;
    }
    int vector = layout == Layout.COLUMNS ? 1 : first.vector();
    int segment = Math.ceilDiv(Math.ceilDiv(problem.n, (int) pieces), vector) * vector;
    int segments = Math.ceilDiv(problem.n, segment);
    var second = problem.variant(layout == Layout.COLUMNS ? layout : Layout.WARP, true, false);
    long launched = first.blocks(problem.outer, problem.inner, segments);
    if (!canRun(launched, first, candidates)) {
      return;
    }
    var states = new ArrayList<Slot>();
    long bytes = 0;
    for (var type : problem.reduction.state(ReduceVariant.number(problem.in))) {
      states.add(new Slot.Workspace(bytes));
      long all = (long) problem.outer * segments * problem.inner * type.bytes();
      bytes += Math.ceilDiv(all, ALIGNMENT) * ALIGNMENT;
    }
    var machine = Machine.of(capability);
    candidates.offer(
        first.name(),
        microseconds(first, problem, launched, segment, machine)
            + machine.sum(
                (double) bytes,
                (double) problem.output.bytes(),
                Math.ceilDiv(segments, second.round())),
        "%d segments, %d blocks".formatted(segments, launched),
        List.of(
            step(first, problem, problem.n, segment, segments, List.of(Slot.input("x")), states),
            step(second, problem, segments, segments, 1, states, List.of(Slot.output("y")))),
        bytes);
  }

  private static boolean canRun(long blocks, ReduceVariant variant, Candidates candidates) {
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
      return false;
    }
    return candidates.runs(Target.SM_80, variant.name());
  }

  /**
   * Estimates the time of a launch that reads all of x.
   *
   * @param length extent along n that the threads of a row or column reduce
   */
  private static double microseconds(
      ReduceVariant variant, Problem problem, long blocks, int length, Machine machine) {
    double elements = (double) problem.outer * problem.n * problem.inner;
    double bytes = elements * problem.in.bytes();
    double rounds = Math.ceilDiv(length, variant.round());
    // a block pads its rows to whole rounds
    double moved =
        (double) ReduceVariant.THREADS * variant.depth() * variant.vector() * problem.in.bytes();
    var work =
        new BlockWork(
            ReduceVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(
                INSTRUCTIONS * rounds * moved / problem.in.bytes() / KernelBuilder.WARP),
            4 * Machine.BARRIER_CYCLES,
            rounds * moved,
            moved);
    return machine.microseconds(blocks, work, bytes);
  }

  private static Step step(
      ReduceVariant variant,
      Problem problem,
      int n,
      int segment,
      int segments,
      List<Slot> from,
      List<Slot> to) {
    var slots = new ArrayList<Slot>(from);
    slots.addAll(to);
    for (int number : new int[] {problem.outer, n, problem.inner, segment, segments, problem.n}) {
      slots.add(Slot.of(number));
    }
    long blocks = variant.blocks(problem.outer, problem.inner, segments);
    return new Step(variant, Dim3.of(Math.toIntExact(blocks)), ReduceVariant.THREADS, 0, slots);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var x = TensorReader.of(inputs, "x");
    var problem = problem(Objects.requireNonNull(inputs.get("x")).type(), attributes);
    var dtype = problem.output.dtype();
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            problem.output.shape().elements(),
            i -> {
              long first = i / problem.inner * problem.n * problem.inner + i % problem.inner;
              double exact =
                  problem.reduction.of(problem.n, c -> x.get(first + (long) c * problem.inner));
              return dtype.isFloat() && Math.abs(exact) >= dtype.overflow()
                  ? Math.copySign(Double.POSITIVE_INFINITY, exact)
                  : exact;
            }));
  }

  private static final List<Shape> ROWS =
      List.of(
          Shape.of(3, 1),
          Shape.of(5, 7),
          Shape.of(2, 9, 13),
          Shape.of(3, 100),
          Shape.of(2, 1000),
          Shape.of(127),
          Shape.of(1, 4099),
          Shape.of(8200));

  private static final List<Shape> COLUMNS =
      List.of(
          Shape.of(1, 5),
          Shape.of(7, 33),
          Shape.of(2, 13, 16),
          Shape.of(3, 65, 40),
          Shape.of(300, 24),
          Shape.of(127, 2, 1));

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    var dtypes = description.inputs().getFirst().dtypes().stream().sorted().toList();
    for (var choices : choices()) {
      // reductions differ only in their states, so only the first is tested with all sizes
      boolean some = quick || !cases.isEmpty();
      for (var dtype : dtypes) {
        var rows = some ? ROWS.subList(2, 4) : ROWS.subList(0, ROWS.size() - 1);
        var columns = some ? COLUMNS.subList(1, 3) : COLUMNS;
        for (var shape : rows) {
          cases.add(make(choices, -1, draw.normal(0, 1, new TensorType(dtype, shape))));
        }
        cases.add(make(choices, -1, draw.normal(0, 1, new TensorType(dtype, ROWS.getLast()))));
        for (var shape : columns) {
          cases.add(make(choices, -2, draw.normal(0, 1, new TensorType(dtype, shape))));
        }
        cases.add(make(choices, 0, draw.normal(0, 1, TensorType.of(dtype, 4, 3, 5))));
        cases.add(make(choices, 1, draw.special(dtype, 8, 13)));
        cases.add(make(choices, 0, draw.special(dtype, 14, 9)));
        // many equal numbers, the first of which must win
        cases.add(make(choices, 1, draw.integers(-2, 2, TensorType.of(dtype, 3, 260))));
      }
    }
    return cases;
  }

  /** Returns the attributes of calls besides the axis: each choice once. */
  private List<Map<String, Object>> choices() {
    var all = new ArrayList<Map<String, Object>>();
    for (var attribute : description.attributes()) {
      for (var choice : attribute.choices()) {
        all.add(Map.of(attribute.name(), choice));
      }
    }
    return all;
  }

  private Case make(Map<String, Object> choices, int axis, HostTensor x) {
    var given = new HashMap<>(choices);
    given.put(AXIS, axis);
    var attributes = Attributes.of(description, given);
    var tolerance = tolerance("y", x.type().dtype(), Map.of(), attributes);
    return new Case(Map.of("x", x), attributes, Map.of("y", tolerance));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return switch (reduction.apply(attributes)) {
      case MAX, MIN, ARGMAX -> Tolerance.exact();
      case SUM, MEAN ->
          switch (dtype) {
            case F64 -> Tolerance.maximum(1e-15);
            case F32 -> Tolerance.maximum(1e-6);
            // the error of f32 arithmetic is much smaller than the rounding
            default -> Tolerance.roundings(1 + 1.0 / 128, dtype);
          };
    };
  }
}
