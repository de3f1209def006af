package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.quant.BlockFormat;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TensorTile;
import dev.athanor.ops.tile.TensorTile.Instruction;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/** Chooses the kernels of products with quantized weights. */
final class ProjectionPlanner {

  /** The tile shape of a block and of a warp; the depth depends on the weights. */
  private record Shape(int m, int n, int warpM, int warpN) {}

  private static final List<Shape> SHAPES =
      List.of(new Shape(128, 128, 64, 32), new Shape(64, 64, 32, 32), new Shape(16, 64, 16, 16));

  /**
   * Tiles for block formats that are decoded to f32. Warps have half as many accumulators, because
   * the weights and the two parts of each factor need registers. With 32 accumulators per thread,
   * all kernels spill.
   */
  private static final List<Shape> SHAPES_FOR_BLOCKS_AS_SINGLES =
      List.of(new Shape(64, 64, 32, 16), new Shape(16, 64, 16, 16));

  /** The limit for shared memory of stages, available on every GPU. */
  private static final int SHARED_BYTES = 96 * 1024;

  /** Elements of the smallest tiles, which also compute smaller problems. */
  private static final int SMALL = 1024;

  /** Elements of the largest tiles that can promote group sums twice per stage without spilling. */
  private static final int MAX_AREA_OF_SMALL_GROUPS = 64 * 128;

  /** The maximum ratio of a tile's size to its useful part. */
  private static final int WASTE = 4;

  /** The maximum rows of the left matrix per GEMV block. */
  private static final int MAX_ROWS = 8;

  /** The steps in flight per warp of a GEMV. */
  private static final int STAGES = 3;

  /** Instructions to decode a weight. */
  private static final double DECODING = 4;

  /** Instructions to round a weight and store it in shared memory. */
  private static final double STAGING = 3;

  /** The tf32 products per f32 product. */
  private static final double SPLIT_PRODUCTS = 3;

  /** The binary logarithm of the smallest groups that kernels decode on the way to a product. */
  private static final int SHIFT_OF_KERNELS =
      Integer.numberOfTrailingZeros(TensorProjection.MIN_GROUP);

  /** Bytes of a direct load from global memory; a lane has two in flight. */
  private static final int LOAD_BYTES = 16;

  private final ProjectionProblem problem;
  private final double weightBytes;
  private final Capability device;
  private final Machine machine;
  private final Candidates candidates;

  private ProjectionPlanner(
      String op, ProjectionProblem problem, double weightBytes, Capability device) {
    this.problem = problem;
    this.weightBytes = weightBytes;
    this.device = device;
    this.machine = Machine.of(device);
    this.candidates = new Candidates(op, device);
  }

  /** Returns the plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(
      String op,
      ProjectionProblem problem,
      Map<String, TensorType> inputs,
      Attributes attributes,
      Capability device) {
    double weightBytes = 0;
    for (var projection : problem.projections()) {
      var weights = inputs.get(projection.weights());
      weightBytes += weights == null ? 0 : weights.bytes();
    }
    var planner = new ProjectionPlanner(op, problem, weightBytes, device);
    switch (problem.packing()) {
      case Packing.Block(var format) -> planner.offerRows(problem.packing(), format);
      case Packing.Fp4 fp4 -> {
        boolean decodedFirst = problem.k() % RowWeights.span(fp4) != 0;
        if (decodedFirst || !Instruction.isNative(problem.in(), device)) {
          new DecodedProjection(problem, inputs, attributes, device).offer(planner.candidates);
        }
        if (decodedFirst) {
          return planner.finished(inputs);
        }
        planner.offerRows(fp4);
      }
      case Packing.AlongN along when !PairedStaging.decodes(along) -> {
        planner.offerColumns(along);
        WeightPlanner.offer(problem, planner.bytes(), device, planner.candidates);
      }
      default -> {
        boolean decodedFirst = problem.groupShift() < SHIFT_OF_KERNELS || problem.indexed();
        if (decodedFirst || !Instruction.isNative(problem.in(), device)) {
          new DecodedProjection(problem, inputs, attributes, device).offer(planner.candidates);
        }
        if (decodedFirst) {
          return planner.finished(inputs);
        }
        Int4GemvPlan.of(problem, weightBytes, device).forEach(planner::offerInt4);
        WeightPlanner.offer(problem, planner.bytes(), device, planner.candidates);
      }
    }
    boolean blocksAsSingles = problem.packing().parts().isPresent() && problem.in() == DType.F32;
    (blocksAsSingles ? SHAPES_FOR_BLOCKS_AS_SINGLES : SHAPES).forEach(planner::offerTile);
    return planner.finished(inputs);
  }

  private List<LaunchPlan> finished(Map<String, TensorType> inputs) {
    var outputs = problem.outputs();
    return candidates.plans(outputs, Plan.Cost.of(problem.flops(), inputs, outputs));
  }

  /**
   * Returns the rows per GEMV block: the smallest power of two not less than the number of rows, at
   * most {@link #MAX_ROWS}.
   */
  private int rows() {
    return Math.min(MAX_ROWS, Integer.highestOneBit(2 * problem.m() - 1));
  }

  private void offerInt4(Int4GemvPlan plan) {
    int rows = plan.variant().rows();
    offer(
        plan.variant().name(),
        plan.microseconds(machine, bytes()),
        "weights are decoded once per %d rows".formatted(rows),
        plan.blocks(),
        plan::whole,
        0);
    plan.shares(machine, bytes())
        .ifPresent(shares ->
            offer(
                plan.variant().split().name() + shares.count(),
                plan.microseconds(machine, bytes(), shares),
                "split-K with %d parts, weights are decoded once per %d rows"
                    .formatted(shares.count(), rows),
                plan.blocks(),
                () -> plan.split(shares),
                plan.workspaceBytes(shares)));
  }

  private void offerRows(Packing packing, DType format) {
    int length = BlockFormat.longestRun(format);
    boolean wide = BlockFormat.alignment(format) == 16;
    for (boolean split : List.of(false, true)) {
      if (wide) {
        offerLoadedRows(packing, length, split);
      }
      offerRows(packing, length, split ? 1 : 2, split, STAGES);
    }
  }

  private void offerRows(Packing.Fp4 packing) {
    for (boolean split : List.of(false, true)) {
      offerLoadedRows(packing, RowWeights.apart(packing), split);
    }
  }

  /** Offers GEMVs whose lanes load their parts directly. */
  private void offerLoadedRows(Packing packing, int length, boolean split) {
    // more columns would need too many accumulator registers for several rows
    for (int columns : split ? List.of(1) : rows() > 2 ? List.of(2) : List.of(4, 2)) {
      offerRows(packing, length, columns, split, 0);
    }
  }

  private void offerRows(Packing packing, int length, int columns, boolean split, int stages) {
    var variant =
        new RowGemv(
            packing,
            problem.in(),
            problem.epilogue(),
            length,
            rows(),
            columns,
            split,
            stages,
            problem.projections().size());
    if (split && problem.m() > MAX_ROWS) {
      candidates.refuse(
          variant.name(), "with this many rows, there are enough blocks without splitting columns");
      return;
    }
    int part = RowWeights.part(problem.packing(), length);
    int lanes = split ? variant.threads() : KernelBuilder.WARP;
    double steps = Math.ceil((double) problem.k() / (lanes * part));
    offerGemv(
        variant,
        variant.tile(),
        steps * part * columns,
        columns,
        variant.threads(),
        variant.sharedBytes());
  }

  private void offerColumns(Packing.AlongN along) {
    var variant =
        new ColumnGemv(
            along,
            problem.in(),
            problem.epilogue(),
            rows(),
            Math.min(ColumnGemv.COLUMNS, problem.alignment()),
            problem.k() % ColumnWeights.ROWS == 0,
            problem.projections().size());
    double steps = Math.ceil((double) problem.k() / (ColumnWeights.ROWS * ColumnGemv.WAYS));
    offerGemv(
        variant,
        variant.tile(),
        steps * ColumnWeights.ROWS * variant.columns(),
        variant.columns(),
        ColumnGemv.THREADS,
        0);
  }

  /**
   * Offers a GEMV.
   *
   * @param weights number of weights that a lane decodes
   * @param columns of c that a lane computes
   */
  private void offerGemv(
      Variant variant, int tile, double weights, int columns, int threads, int shared) {
    int groups = Math.ceilDiv(problem.m(), rows());
    long blocks = problem.blocks(tile);
    double decoding = weights * threads / KernelBuilder.WARP * (DECODING + 2 * rows());
    var work =
        new BlockWork(
            threads,
            Math.min(Machine.MOST_REGISTERS, 48 + columns * (16 + 4 * rows())),
            shared,
            machine.issueCycles(decoding),
            Machine.BARRIER_CYCLES,
            // each block reads its rows, which are cached
            weightBytes / blocks + (double) rows() * problem.k() * problem.in().bytes(),
            shared > 0 ? shared : 2.0 * threads * LOAD_BYTES);
    offer(
        variant.name(),
        machine.microseconds(blocks * groups, work, bytes()),
        "weights are decoded once per %d rows".formatted(rows()),
        blocks,
        () ->
            List.of(
                new Step(
                    variant,
                    new Dim3((int) blocks, groups, 1),
                    threads,
                    shared,
                    problem.arguments(Slot::output))),
        0);
  }

  /** Returns the bytes that a launch transfers from and to memory. */
  private double bytes() {
    double written = (double) problem.m() * problem.columns() * problem.out().bytes();
    return weightBytes + (double) problem.m() * problem.k() * problem.in().bytes() + written;
  }

  private void offerTile(Shape shape) {
    var packing = problem.packing();
    var staged = TensorProjection.staged(problem.in());
    int group = TensorProjection.group(problem);
    int depth = Math.max(TensorProjection.DEPTH, RowWeights.span(packing));
    int stageBytes = (shape.m + shape.n) * depth * staged.bytes();
    int stages = Math.max(2, Math.min(4, SHARED_BYTES / stageBytes));
    // scales are applied to sums only where the layout of fragments is specified
    var instruction = group > 0 ? Instruction.MMA : Instruction.ofWarp(problem.in(), device);
    var tile =
        new TensorTile(shape.m, shape.n, depth, shape.warpM, shape.warpN, stages).with(instruction);
    var variant =
        new TensorProjection(
            tile,
            packing,
            problem.in(),
            problem.epilogue(),
            group,
            access(problem.k(), problem.in()),
            accessWeights(packing),
            access(problem.alignment(), problem.out()),
            problem.projections().size(),
            false);
    if (instruction == Instruction.MMA && !Instruction.isNative(problem.in(), device)) {
      candidates.refuse(variant.name(), "tensor cores lack " + problem.in().text());
      return;
    }
    long area = (long) shape.m * shape.n;
    if (area > SMALL && area > WASTE * upTo16(problem.m()) * upTo16(problem.columns())) {
      candidates.refuse(variant.name(), "smaller tiles waste less of each block");
      return;
    }
    if (group > 0 && group < depth && area > MAX_AREA_OF_SMALL_GROUPS) {
      candidates.refuse(
          variant.name(),
          "scaling partial sums of %d products leaves too few registers".formatted(group));
      return;
    }
    long blocks = problem.blocks(shape.n) * Math.ceilDiv(problem.m(), shape.m);
    int stagesOfDepth = Math.ceilDiv(problem.k(), depth);
    offer(
        variant.name(),
        variant.order(),
        machine.microseconds(blocks, work(variant, stagesOfDepth, problem.out()), bytes()),
        TensorProjection.factors(problem.in()) == Factors.SPLIT
            ? "each factor is split into two tf32 numbers"
            : group > 0
                ? "integer weights, scales applied to partial sums of %d products".formatted(group)
                : "weights are rounded to " + staged.word(),
        blocks,
        () ->
            List.of(
                new Step(
                    variant,
                    Dim3.of((int) blocks),
                    tile.threads(),
                    variant.sharedBytes(),
                    problem.arguments(Slot::output))),
        0);
    // K is not split for several products
    if (problem.projections().size() == 1 && packing.scaled()) {
      Shares.cheapest(
              stagesOfDepth, blocks, device, shares -> microseconds(variant, blocks, shares))
          .ifPresent(shares -> offerShares(variant, blocks, shares));
    }
  }

  private int accessWeights(Packing packing) {
    boolean wholeGroups = problem.k() % TensorProjection.MIN_GROUP == 0;
    return PairedStaging.decodes(packing) && wholeGroups
        ? TensorProjection.MIN_GROUP
        : Math.min(TensorProjection.MAX_INT8_WEIGHTS, problem.alignment());
  }

  /** Offers a split-K kernel, whose partial sums a second launch adds. */
  private void offerShares(TensorProjection whole, long tiles, Shares shares) {
    var tile = whole.tile();
    var first = whole.share();
    var second =
        new SplitVariant(
            tile, Type.F32, whole.product().interleaving(), problem.epilogue(), whole.accessC());
    long bytes = SplitVariant.workspaceBytes(tile, tiles * shares.count());
    var sums = new Slot.Workspace(0);
    var arguments =
        problem.ofShares().arguments(_ -> sums).with("depth", shares.stages() * tile.k());
    var projection = problem.projections().getFirst();
    offer(
        first.name() + shares.count(),
        microseconds(whole, tiles, shares),
        "split-K with %d parts".formatted(shares.count()),
        tiles,
        () ->
            List.of(
                new Step(
                    first,
                    new Dim3((int) tiles, shares.count(), 1),
                    tile.threads(),
                    first.sharedBytes(),
                    arguments),
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

  /** Returns the time of a split-K launch and of the launch that adds the partial sums. */
  private double microseconds(TensorProjection whole, long tiles, Shares shares) {
    var work = work(whole.share(), shares.stages(), DType.F32);
    double results = (double) problem.m() * problem.columns() * problem.out().bytes();
    return machine.microseconds(tiles * shares.count(), work, bytes())
        + machine.dependentSum(
            (double) SplitVariant.workspaceBytes(whole.tile(), tiles * shares.count()),
            results,
            SplitVariant.rounds(shares.count()));
  }

  /**
   * Returns the work of a block.
   *
   * @param stages along K that the block computes
   * @param written dtype of the block's results
   */
  private BlockWork work(TensorProjection variant, int stages, DType written) {
    var tile = variant.tile();
    double weights = (double) tile.n() * tile.k();
    boolean split = TensorProjection.factors(problem.in()) == Factors.SPLIT;
    double products =
        tile.tensorCycles(machine, tile.m() * weights, TensorProjection.mma(problem.in()).a())
            * (split ? SPLIT_PRODUCTS : 1);
    int group = TensorProjection.group(problem);
    double promoting = group == 0 ? 0 : (double) tile.m() * tile.n() * tile.k() / group;
    double instructions = (weights * (DECODING + STAGING) + promoting) / KernelBuilder.WARP;
    double rows = (double) Math.min(tile.m(), problem.m()) * tile.k() * problem.in().bytes();
    double weightsOfStage = weightBytes * weights / ((double) problem.columns() * problem.k());
    double out = (double) tile.m() * tile.n() * written.bytes();
    int sums = tile.warpM() * tile.warpN() / KernelBuilder.WARP;
    return new BlockWork(
        tile.threads(),
        64 + 2 * sums,
        variant.sharedBytes(),
        stages * Math.max(products, machine.issueCycles(instructions)) + machine.sharedCycles(out),
        stages * Machine.BARRIER_CYCLES,
        stages * (rows + weightsOfStage) + out,
        (tile.stages() - 1) * (rows + weightsOfStage));
  }

  private static long upTo16(long extent) {
    return Math.ceilDiv(extent, 16) * 16L;
  }

  /** Returns the alignment of rows with a number of elements, in bytes, at most 16. */
  private static int access(int elements, DType dtype) {
    return (int) Math.min(16, Long.lowestOneBit(elements * (long) dtype.bytes()));
  }

  /** Offers a candidate with an order of its own. */
  private void offer(
      String name,
      double microseconds,
      String how,
      long blocks,
      Supplier<List<Step>> steps,
      long workspaceBytes) {
    offer(name, name, microseconds, how, blocks, steps, workspaceBytes);
  }

  /**
   * Offers a candidate, or rejects it if it has too many blocks.
   *
   * @param blocks along the grid's first dimension
   */
  private void offer(
      String name,
      String order,
      double microseconds,
      String how,
      long blocks,
      Supplier<List<Step>> steps,
      long workspaceBytes) {
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
      return;
    }
    candidates.offer(name, order, microseconds, how, steps.get(), workspaceBytes);
  }
}
