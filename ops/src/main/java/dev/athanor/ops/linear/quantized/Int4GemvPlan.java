package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.tile.Shares;
import java.util.List;
import java.util.Optional;

/**
 * The launches of an {@link Int4Gemv} for a problem, with or without split K.
 *
 * @param problem with four-bit weights
 * @param columns per block
 * @param weightBytes bytes of all weights
 */
record Int4GemvPlan(ProjectionProblem problem, int columns, double weightBytes, Capability device) {

  /** The maximum rows of the left matrix per block. */
  private static final int MAX_ROWS = 8;

  /** Machine instructions per weight; see the ledger of first choices. */
  private static final double INSTRUCTIONS = 2;

  /** Registers per thread; see the ledger of first choices. */
  private static final int REGISTERS = 96;

  /**
   * Returns the plans for a problem. Wide blocks execute fewer instructions per weight; narrow
   * blocks fill a GPU with fewer columns. AWQ rows of 32 columns would be smaller than a sector,
   * and narrow blocks lack shared memory for several rows of the left matrix.
   */
  static List<Int4GemvPlan> of(ProjectionProblem problem, double weightBytes, Capability device) {
    boolean narrow =
        problem.m() <= 2
            && !(problem.packing() instanceof Packing.AlongN along
                && along.format() == ColumnWeights.Format.AWQ);
    return (narrow ? List.of(64, 32) : List.of(64))
        .stream().map(n -> new Int4GemvPlan(problem, n, weightBytes, device)).toList();
  }

  /** Returns the kernel that computes all of K. */
  Int4Gemv variant() {
    return new Int4Gemv(
        problem.packing(),
        problem.in(),
        problem.epilogue(),
        Math.min(MAX_ROWS, Integer.highestOneBit(2 * problem.m() - 1)),
        columns,
        Math.min(Int4Slot.DEPTH, 1 << Math.min(problem.groupShift(), 30)),
        Math.min(Int4Gemv.MAX_ALIGNMENT, Integer.lowestOneBit(problem.k())),
        Math.min(Int4Gemv.MAX_ALIGNMENT, problem.alignment()),
        problem.projections().size(),
        false);
  }

  /** Returns the blocks along the grid's first dimension. */
  long blocks() {
    return problem.blocks(columns);
  }

  /** Returns the blocks along the grid's second dimension, one for each group of rows. */
  private int groups() {
    return Math.ceilDiv(problem.m(), variant().rows());
  }

  /** Returns the depth that the warps of a block process in one step each. */
  private int depthOfRound() {
    return Int4Slot.DEPTH * variant().threads() / KernelBuilder.WARP;
  }

  /**
   * Returns the cheapest split of K, with one step of each warp as a stage; empty if there are
   * enough blocks. K is not split for several products.
   *
   * @param bytes that the first launch reads from memory
   */
  Optional<Shares> shares(Machine machine, double bytes) {
    return problem.projections().size() > 1
        ? Optional.empty()
        : Shares.cheapest(
            Math.ceilDiv(problem.k(), depthOfRound()),
            blocks() * groups(),
            device,
            shares -> microseconds(machine, bytes, shares));
  }

  /** Returns the time of the launch that computes all of K. */
  double microseconds(Machine machine, double bytes) {
    return machine.microseconds(blocks() * groups(), work(machine, problem.k()), bytes);
  }

  /** Returns the time of the split-K launches. */
  double microseconds(Machine machine, double bytes, Shares shares) {
    var work = work(machine, shares.stages() * depthOfRound());
    double results = (double) problem.m() * problem.columns() * problem.out().bytes();
    return machine.microseconds(blocks() * groups() * shares.count(), work, bytes)
        + machine.sum(
            (double) workspaceBytes(shares), results, ShareSumVariant.rounds(shares.count()));
  }

  /** Returns the work of a block. */
  private BlockWork work(Machine machine, int depth) {
    var variant = variant();
    double weights = (double) columns * depth;
    double rows = (double) variant.rows() * depth * problem.in().bytes();
    return new BlockWork(
        variant.threads(),
        REGISTERS,
        variant.sharedBytes(),
        machine.issueCycles(weights * INSTRUCTIONS / KernelBuilder.WARP),
        Machine.BARRIER_CYCLES,
        weightBytes * weights / ((double) problem.columns() * problem.k()) + rows,
        variant.bytesInFlight());
  }

  /** Returns the launch that computes all of K. */
  List<Step> whole() {
    return List.of(step(variant(), 1, problem.arguments(Slot::output)));
  }

  /** Returns the split-K launches. */
  List<Step> split(Shares shares) {
    var projection = problem.projections().getFirst();
    var sums = new Slot.Workspace(0);
    var arguments =
        problem.ofShares().arguments(_ -> sums).with("depth", shares.stages() * depthOfRound());
    var second = ShareSumVariant.of(problem.epilogue(), projection.n());
    return List.of(
        step(variant().split(), shares.count(), arguments),
        second.step(
            sums,
            Slot.output(projection.output()),
            problem.m() * projection.n(),
            projection.n(),
            shares.count(),
            1));
  }

  /** Returns the bytes of the workspace for partial sums. */
  long workspaceBytes(Shares shares) {
    return ShareSumVariant.workspaceBytes(
        problem.epilogue(),
        (long) problem.m() * problem.projections().getFirst().n(),
        shares.count());
  }

  private Step step(Int4Gemv variant, int shares, Arguments arguments) {
    return new Step(
        variant,
        new Dim3((int) blocks(), groups(), shares),
        variant.threads(),
        variant.sharedBytes(),
        arguments);
  }
}
