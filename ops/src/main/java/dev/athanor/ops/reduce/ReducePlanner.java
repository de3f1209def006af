package dev.athanor.ops.reduce;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reduce.ReduceVariant.Layout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Plans a reduction: a launch for each group of reduced dimensions, the longest first. A launch
 * that would not fill the device is split into segments, whose states one more launch merges.
 */
final class ReducePlanner {

  /** Instructions per element: convert and combine. */
  private static final double INSTRUCTIONS = 3;

  /** Registers per thread. */
  private static final int REGISTERS = 40;

  private static final int ALIGNMENT = 256;

  /** The number of states that one launch merges without splitting. */
  private static final int MAX_STATES = 512;

  /** The widest access along columns: a thread of a block stores each column. */
  private static final int MAX_COLUMNS = ReduceVariant.THREADS / KernelBuilder.WARP;

  private final ReduceProblem problem;
  private final Capability capability;
  private final Machine machine;
  private final Candidates candidates;
  private final int count;

  /** A matrix [outer, n, inner] of elements or states. */
  private record Extents(int outer, int n, int inner) {

    long elements() {
      return (long) outer * n * inner;
    }
  }

  /** The launches after the first, with the states between them. */
  private final class Chain {
    private final List<Step> steps = new ArrayList<>();
    private List<Slot> states = List.of(Slot.input("x"));
    private long bytes;
    private double microseconds;

    /**
     * Adds a launch.
     *
     * @param segment extent along n that the threads of a row or column reduce
     */
    void add(ReduceVariant variant, Extents extents, int segment, int segments) {
      var to = List.of(Slot.output("y"));
      if (variant.to()) {
        to = states((long) extents.outer * segments * extents.inner);
      }
      steps.add(step(variant, extents, segment, segments, states, to));
      states = to;
    }

    private List<Slot> states(long each) {
      var slots = new ArrayList<Slot>();
      for (var type : fold().state(number())) {
        slots.add(new Slot.Workspace(bytes));
        bytes += Math.ceilDiv(each * type.bytes(), ALIGNMENT) * ALIGNMENT;
      }
      return slots;
    }

    /** Adds the launches that reduce the states of the remaining groups. */
    void finish(ReducedAxes rest) {
      var left = rest;
      for (int at = left.longest(); at >= 0; at = left.longest()) {
        var extents = extents(left, at);
        long before = bytes;
        var layout = extents.inner == 1 ? Layout.WARP : Layout.COLUMNS;
        var last = variant(problem.reduction(), layout, extents, true, false);
        var next = variant(problem.reduction().partial(), layout, extents, true, true);
        int pieces = extents.n > MAX_STATES ? pieces(next, extents) : 1;
        int segment = Math.ceilDiv(extents.n, pieces);
        int segments = Math.ceilDiv(extents.n, segment);
        boolean isLast = segments == 1 && !left.reducesBeside(at);
        var chosen = isLast ? last : next;
        add(chosen, extents, segment, segments);
        double results = isLast ? problem.output().bytes() : bytes - before;
        double read = 0;
        for (var type : fold().state(number())) {
          long each = extents.elements() * type.bytes();
          read += Math.ceilDiv(each, ALIGNMENT) * ALIGNMENT;
        }
        microseconds += machine.sum(read, results, Math.ceilDiv(segment, chosen.round()));
        left = left.after(at, segments);
      }
    }
  }

  private ReducePlanner(ReduceProblem problem, Capability capability, Candidates candidates) {
    this.problem = problem;
    this.capability = capability;
    this.candidates = candidates;
    machine = Machine.of(capability);
    count = problem.count();
  }

  /**
   * Returns the plans.
   *
   * @param op name of the op, for messages
   */
  static List<? extends Plan> plans(String op, ReduceProblem problem, Capability capability) {
    var x = problem.x();
    var candidates = new Candidates("%s of %s".formatted(op, x.dtype().text()), capability);
    new ReducePlanner(problem, capability, candidates).offer();
    var outputs = Map.of("y", problem.output());
    return candidates.plans(
        outputs, Plan.Cost.of((double) x.shape().elements(), Map.of("x", x), outputs));
  }

  private void offer() {
    int longest = problem.axes().longest();
    var extents = extents(problem.axes(), longest);
    var layouts = extents.inner == 1 ? List.of(Layout.WARP, Layout.BLOCK) : List.of(Layout.COLUMNS);
    for (var layout : layouts) {
      whole(longest, extents, layout);
    }
    split(longest, extents, layouts.getLast());
  }

  private Extents extents(ReducedAxes axes, int position) {
    var shape = problem.x().shape();
    return new Extents(
        Checks.count("x", shape, axes.before(position)),
        Checks.count("x", shape, axes.groups().get(position).extent()),
        Checks.count("x", shape, axes.behind(position)));
  }

  private Type number() {
    return problem.reduction().number(problem.x().dtype());
  }

  private Fold fold() {
    return problem.reduction().fold(number());
  }

  private ReduceVariant variant(
      Reduction reduction, Layout layout, Extents extents, boolean from, boolean to) {
    var in = problem.x().dtype();
    int widest = 16 / in.bytes();
    long along = extents.inner == 1 ? extents.n : extents.inner;
    int most = layout == Layout.COLUMNS ? Math.min(widest, MAX_COLUMNS) : widest;
    int vector = (int) Math.min(most, Long.lowestOneBit(along));
    return new ReduceVariant(
        reduction, in, problem.output().dtype(), layout, from, to, from ? 1 : vector);
  }

  /** Offers a first launch in which a warp or a block reduces all of the longest group. */
  private void whole(int longest, Extents extents, Layout layout) {
    boolean more = problem.axes().reducesBeside(longest);
    var reduction = more ? problem.reduction().partial() : problem.reduction();
    var variant = variant(reduction, layout, extents, false, more);
    long blocks = variant.blocks(extents.outer, extents.inner, 1);
    if (canRun(blocks, variant)) {
      offer("%d blocks".formatted(blocks), longest, extents, variant, extents.n, 1);
    }
  }

  /** Offers a first launch that reduces enough segments of n to fill the device. */
  private void split(int longest, Extents extents, Layout layout) {
    var first = variant(problem.reduction().partial(), layout, extents, false, true);
    int pieces = pieces(first, extents);
    if (pieces < 2) {
      candidates.refuse(
          first.name(),
          "the device is fully occupied without splitting, or the dimension is too short"
              + " to split");
      return;
    }
    int vector = layout == Layout.COLUMNS ? 1 : first.vector();
    int segment = Math.ceilDiv(Math.ceilDiv(extents.n, pieces), vector) * vector;
    int segments = Math.ceilDiv(extents.n, segment);
    long launched = first.blocks(extents.outer, extents.inner, segments);
    if (canRun(launched, first)) {
      offer(
          "%d segments, %d blocks".formatted(segments, launched),
          longest,
          extents,
          first,
          segment,
          segments);
    }
  }

  /** Returns into how many segments to split n to fill the device. */
  private int pieces(ReduceVariant variant, Extents extents) {
    long blocks = variant.blocks(extents.outer, extents.inner, 1);
    long wanted = Math.ceilDiv(2L * capability.multiprocessors(), blocks);
    long most = Math.ceilDiv(extents.n, Math.max(1, variant.round() / variant.depth()));
    return (int) Math.min(wanted, most);
  }

  private void offer(
      String how, int longest, Extents extents, ReduceVariant first, int segment, int segments) {
    var chain = new Chain();
    chain.add(first, extents, segment, segments);
    if (first.to()) {
      chain.finish(problem.axes().after(longest, segments));
    }
    long blocks = first.blocks(extents.outer, extents.inner, segments);
    candidates.offer(
        segments == 1 ? first.name() : "%s_split%d".formatted(first.name(), segments),
        microseconds(first, extents, blocks, segment) + chain.microseconds,
        how,
        chain.steps,
        chain.bytes);
  }

  private boolean canRun(long blocks, ReduceVariant variant) {
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
      return false;
    }
    return true;
  }

  /**
   * Estimates the time of a launch that reads all of x.
   *
   * @param length extent along n that the threads of a row or column reduce
   */
  private double microseconds(ReduceVariant variant, Extents extents, long blocks, int length) {
    int elementBytes = problem.x().dtype().bytes();
    double rounds = Math.ceilDiv(length, variant.round());
    // a block pads its rows to whole rounds
    double moved =
        (double) ReduceVariant.THREADS * variant.depth() * variant.vector() * elementBytes;
    var work =
        new BlockWork(
            ReduceVariant.THREADS,
            REGISTERS,
            0,
            machine.issueCycles(INSTRUCTIONS * rounds * moved / elementBytes / KernelBuilder.WARP),
            4 * Machine.BARRIER_CYCLES,
            rounds * moved,
            moved);
    return machine.microseconds(blocks, work, (double) extents.elements() * elementBytes);
  }

  private Step step(
      ReduceVariant variant,
      Extents extents,
      int segment,
      int segments,
      List<Slot> from,
      List<Slot> to) {
    var arguments =
        pointers("x", variant.from(), from)
            .with(pointers("y", variant.to(), to))
            .with("outer", extents.outer)
            .with("n", extents.n)
            .with("inner", extents.inner)
            .with("segment", segment)
            .with("segments", segments)
            .with("count", count);
    if (variant.reduction().isDispersion()) {
      arguments = arguments.with("divisor", count - problem.correction());
    }
    long blocks = variant.blocks(extents.outer, extents.inner, segments);
    return new Step(variant, Dim3.of(Math.toIntExact(blocks)), ReduceVariant.THREADS, 0, arguments);
  }

  private static Arguments pointers(String name, boolean states, List<Slot> slots) {
    return states ? Arguments.ofParts(name, slots) : Arguments.NONE.with(name, slots.getFirst());
  }
}
