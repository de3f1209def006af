package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.quant.BlockFormat;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TensorTile;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;

/** Chooses how products with quantised weights are computed. */
final class ProjectionPlanner {

  /** A tile of c and of a warp; the depth depends on the weights. */
  private record Shape(int m, int n, int warpM, int warpN) {}

  private static final List<Shape> SHAPES =
      List.of(new Shape(128, 128, 64, 32), new Shape(64, 64, 32, 32), new Shape(16, 64, 16, 16));

  /**
   * Tiles for blocks of weights that are decoded to f32. Warps have half as many sums: the weights,
   * and the two parts of each factor, need the registers. With 32 sums a thread, all kernels spill.
   */
  private static final List<Shape> SHAPES_FOR_BLOCKS_AS_SINGLES =
      List.of(new Shape(64, 64, 32, 16), new Shape(16, 64, 16, 16));

  /** What stages may take, so that every GPU has it. */
  private static final int SHARED_BYTES = 96 * 1024;

  /** Elements of the smallest tiles, which compute whatever is smaller. */
  private static final int SMALL = 1024;

  /** Elements of the largest tiles whose groups are promoted twice a stage without spilling. */
  private static final int MAX_AREA_OF_SMALL_GROUPS = 64 * 128;

  /** How many times a larger tile may be as large as what it computes. */
  private static final int WASTE = 4;

  /** How many rows of the left matrix a block of a GEMV takes at most. */
  private static final int MOST_ROWS = 8;

  /** How many steps of a warp of a GEMV are on their way. */
  private static final int STAGES = 3;

  /** Instructions that decode a weight. */
  private static final double DECODING = 4;

  /** Instructions that round a weight and bring it to shared memory. */
  private static final double STAGING = 3;

  /** Multiply-adds of 16-bit elements on tensor cores that a multiprocessor does in a cycle. */
  private static final double PRODUCTS_PER_CYCLE = 1024;

  /** Products of tf32 that make one of f32. */
  private static final double SPLIT_PRODUCTS = 3;

  /** Bytes that a multiprocessor receives in a cycle when all do. */
  private static final double BYTES_PER_CYCLE = 20;

  /** Bytes that it receives in a cycle from the level 2 cache. */
  private static final double CACHED_BYTES_PER_CYCLE = 40;

  /** Cycles of a launch, with a block's before its first product and behind its last. */
  private static final double LAUNCH_CYCLES = 4500;

  /** Cycles from one stage to the next that nothing shortens. */
  private static final double STAGE_CYCLES = 100;

  private final ProjectionProblem problem;
  private final double weightBytes;
  private final Capability device;
  private final Candidates candidates;

  private ProjectionPlanner(
      String op, ProjectionProblem problem, double weightBytes, Capability device) {
    this.problem = problem;
    this.weightBytes = weightBytes;
    this.device = device;
    this.candidates = new Candidates(op, device);
  }

  /** The plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(
      String op, ProjectionProblem problem, Map<String, TensorType> inputs, Capability device) {
    double weightBytes = 0;
    for (var projection : problem.projections()) {
      var weights = inputs.get(projection.weights());
      weightBytes += weights == null ? 0 : weights.bytes();
    }
    var planner = new ProjectionPlanner(op, problem, weightBytes, device);
    if (planner.candidates.runs(Target.SM_80, op)) {
      switch (problem.packing()) {
        case Packing.Block block -> planner.offerRows(block);
        case Packing.AlongN along when !PairedStaging.decodes(along) -> planner.offerColumns(along);
        default -> Int4GemvPlan.of(problem, weightBytes, device).forEach(planner::offerInt4);
      }
      boolean blocksAsSingles =
          problem.packing() instanceof Packing.Block && problem.in() == DType.F32;
      (blocksAsSingles ? SHAPES_FOR_BLOCKS_AS_SINGLES : SHAPES).forEach(planner::offerTile);
    }
    var outputs = problem.outputs();
    return planner.candidates.plans(outputs, Plan.Cost.of(problem.flops(), inputs, outputs));
  }

  /** Rows that a block of a GEMV takes: a power of two, and not many more than there are. */
  private int rows() {
    return Math.min(MOST_ROWS, Integer.highestOneBit(2 * problem.m() - 1));
  }

  private void offerInt4(Int4GemvPlan plan) {
    int rows = plan.variant().rows();
    offer(
        plan.variant().name(),
        plan.cycles(1, BYTES_PER_CYCLE, CACHED_BYTES_PER_CYCLE),
        "weights are decoded for %d rows at once".formatted(rows),
        plan.blocks(),
        plan::whole,
        0);
    plan.shares()
        .ifPresent(shares ->
            offer(
                plan.variant().split().name() + shares.count(),
                LAUNCH_CYCLES
                    + plan.cycles(shares.count(), BYTES_PER_CYCLE, CACHED_BYTES_PER_CYCLE),
                "K in %d shares, and weights are decoded for %d rows at once"
                    .formatted(shares.count(), rows),
                plan.blocks(),
                () -> plan.split(shares),
                plan.workspaceBytes(shares)));
  }

  private void offerRows(Packing.Block packing) {
    int length = BlockFormat.longestRun(packing.format());
    boolean wide = BlockFormat.alignment(packing.format()) == 16;
    for (boolean split : List.of(false, true)) {
      if (wide && split) {
        offerRows(packing, length, 1, true, 0);
      } else if (wide) {
        // more would take more registers for the sums of several rows than there are
        for (int columns : rows() > 2 ? List.of(2) : List.of(4, 2)) {
          offerRows(packing, length, columns, false, 0);
        }
      }
      offerRows(packing, length, split ? 1 : 2, split, STAGES);
    }
  }

  private void offerRows(
      Packing.Block packing, int length, int columns, boolean split, int stages) {
    var variant =
        new RowGemv(
            packing,
            problem.in(),
            problem.out(),
            length,
            rows(),
            columns,
            split,
            stages,
            problem.projections().size());
    if (split && problem.m() > MOST_ROWS) {
      candidates.refuse(variant.name(), "so many rows have blocks enough without sharing columns");
      return;
    }
    int part = RowWeights.part(problem.packing(), length);
    int lanes = split ? variant.threads() : KernelBuilder.WARP;
    double steps = Math.ceil((double) problem.k() / (lanes * part));
    offerGemv(
        variant, variant.tile(), steps * part * columns, variant.threads(), variant.sharedBytes());
  }

  private void offerColumns(Packing.AlongN along) {
    var variant =
        new ColumnGemv(
            along,
            problem.in(),
            problem.out(),
            rows(),
            Math.min(ColumnGemv.COLUMNS, problem.alignment()),
            problem.k() % ColumnWeights.ROWS == 0,
            problem.projections().size());
    double steps = Math.ceil((double) problem.k() / (ColumnWeights.ROWS * ColumnGemv.WAYS));
    offerGemv(
        variant,
        variant.tile(),
        steps * ColumnWeights.ROWS * variant.columns(),
        ColumnGemv.THREADS,
        0);
  }

  /**
   * Offers a GEMV.
   *
   * @param weights how many a lane decodes
   */
  private void offerGemv(Variant variant, int tile, double weights, int threads, int shared) {
    int groups = Math.ceilDiv(problem.m(), rows());
    long blocks = problem.blocks(tile);
    double perBlock = threads * weights * (DECODING + 2 * rows()) / LaunchTime.LANES;
    double waves = Math.ceil(blocks * (double) groups / device.multiprocessors());
    double read = groups * weightBytes;
    // each block reads its rows, which the cache has
    double cached = read + (double) blocks * groups * rows() * problem.k() * problem.in().bytes();
    double moving = Math.max(read / BYTES_PER_CYCLE, cached / CACHED_BYTES_PER_CYCLE);
    offer(
        variant.name(),
        Math.max(waves * perBlock, moving / device.multiprocessors()),
        "weights are decoded for %d rows at once".formatted(rows()),
        blocks,
        () ->
            List.of(
                new Step(
                    variant,
                    new Dim3((int) blocks, groups, 1),
                    threads,
                    shared,
                    problem.slots(Slot::output))),
        0);
  }

  private void offerTile(Shape shape) {
    var packing = problem.packing();
    var staged = TensorProjection.staged(problem.in());
    int group = TensorProjection.group(problem);
    int depth = Math.max(TensorProjection.DEPTH, RowWeights.span(packing));
    int stageBytes = (shape.m + shape.n) * depth * staged.bytes();
    int stages = Math.max(2, Math.min(4, SHARED_BYTES / stageBytes));
    var tile = new TensorTile(shape.m, shape.n, depth, shape.warpM, shape.warpN, stages);
    var variant =
        new TensorProjection(
            tile,
            packing,
            problem.in(),
            problem.out(),
            group,
            access(problem.k(), problem.in()),
            accessWeights(packing),
            access(problem.alignment(), problem.out()),
            problem.projections().size(),
            false);
    long area = (long) shape.m * shape.n;
    if (area > SMALL && area > WASTE * upTo16(problem.m()) * upTo16(problem.columns())) {
      candidates.refuse(variant.name(), "smaller tiles leave less of a block idle");
      return;
    }
    if (group > 0 && group < depth && area > MAX_AREA_OF_SMALL_GROUPS) {
      candidates.refuse(
          variant.name(),
          "sums of %d that get their scale leave too few registers".formatted(group));
      return;
    }
    long blocks = problem.blocks(shape.n) * Math.ceilDiv(problem.m(), shape.m);
    int stagesOfDepth = Math.ceilDiv(problem.k(), depth);
    offer(
        variant.name(),
        Math.ceil(blocks / (double) device.multiprocessors()) * stagesOfDepth * stageCycles(tile),
        TensorProjection.factors(problem.in()) == Factors.SPLIT
            ? "each factor is the sum of two tf32 numbers"
            : group > 0
                ? "weights are integers, and sums of %d get their scale".formatted(group)
                : "weights are rounded to " + staged.word(),
        blocks,
        () ->
            List.of(
                new Step(
                    variant,
                    Dim3.of((int) blocks),
                    tile.threads(),
                    variant.sharedBytes(),
                    problem.slots(Slot::output))),
        0);
    // of several products one launch computes all
    if (problem.projections().size() == 1 && packing.scaled()) {
      Shares.of(stagesOfDepth, blocks, device)
          .ifPresent(shares -> offerShares(variant, blocks, shares));
    }
  }

  private int accessWeights(Packing packing) {
    boolean wholeGroups = problem.k() % TensorProjection.LEAST_GROUP == 0;
    return PairedStaging.decodes(packing) && wholeGroups
        ? TensorProjection.LEAST_GROUP
        : Math.min(TensorProjection.MOST_BYTES, problem.alignment());
  }

  /** Several blocks share K, and a second launch adds what they have. */
  private void offerShares(TensorProjection whole, long tiles, Shares shares) {
    var tile = whole.tile();
    var packing = problem.packing();
    var first = whole.share();
    var second =
        new SplitVariant(
            tile,
            Type.F32,
            whole.product().interleaving(),
            ProjectionParameters.epilogue(packing, problem.out()),
            whole.accessC());
    long bytes = SplitVariant.workspaceBytes(tile, tiles * shares.count());
    var sums = new Slot.Workspace(0);
    var slots = problem.slots(_ -> sums);
    slots.add(Slot.of(shares.stages() * tile.k()));
    var projection = problem.projections().getFirst();
    offer(
        first.name() + shares.count(),
        LAUNCH_CYCLES
            + shares.stages() * stageCycles(tile)
            + bytes / (BYTES_PER_CYCLE * device.multiprocessors()),
        "K in %d shares".formatted(shares.count()),
        tiles,
        () ->
            List.of(
                new Step(
                    first,
                    new Dim3((int) tiles, shares.count(), 1),
                    tile.threads(),
                    first.sharedBytes(),
                    slots),
                second.step(
                    sums,
                    Slot.output(projection.output()),
                    problem.m(),
                    projection.n(),
                    tiles,
                    shares.count(),
                    1)),
        bytes);
  }

  /** The cycles that a multiprocessor takes for a stage of a tile. */
  private double stageCycles(TensorTile tile) {
    double weights = (double) tile.n() * tile.k();
    double products =
        PRODUCTS_PER_CYCLE
            * 2
            / TensorProjection.staged(problem.in()).bytes()
            / (TensorProjection.factors(problem.in()) == Factors.SPLIT ? SPLIT_PRODUCTS : 1);
    int group = TensorProjection.group(problem);
    double promoting = group == 0 ? 0 : (double) tile.m() * tile.n() * tile.k() / group;
    return Math.max(
            tile.m() * weights / products,
            (weights * (DECODING + STAGING) + promoting) / LaunchTime.LANES)
        + STAGE_CYCLES;
  }

  private static long upTo16(long extent) {
    return Math.ceilDiv(extent, 16) * 16L;
  }

  /** The most bytes that every row of so many elements begins at a multiple of, at most 16. */
  private static int access(int elements, DType dtype) {
    return (int) Math.min(16, Long.lowestOneBit(elements * (long) dtype.bytes()));
  }

  /**
   * Offers a way.
   *
   * @param cycles that it takes beside those of a launch
   * @param blocks of its first dimension, which must not be too many
   */
  private void offer(
      String name,
      double cycles,
      String how,
      long blocks,
      Supplier<List<Step>> steps,
      long workspaceBytes) {
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
      return;
    }
    double microseconds = (LAUNCH_CYCLES + cycles) / LaunchTime.CYCLES_PER_MICROSECOND;
    candidates.offer(
        name,
        microseconds,
        String.format(Locale.ROOT, "about %.1f us; %s", microseconds, how),
        steps.get(),
        workspaceBytes);
  }
}
