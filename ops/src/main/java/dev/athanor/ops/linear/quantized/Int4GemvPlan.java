package dev.athanor.ops.linear.quantized;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.quant.ColumnWeights;
import dev.athanor.ops.tile.Shares;
import java.util.List;
import java.util.Optional;

/**
 * The launches of an {@link Int4Gemv} for a problem, whole or with K in shares.
 *
 * @param problem with four-bit weights
 * @param columns of a block
 * @param weightBytes bytes of all weights
 */
record Int4GemvPlan(ProjectionProblem problem, int columns, double weightBytes, Capability device) {

  /** The most rows of the left matrix of a block. */
  private static final int MOST_ROWS = 8;

  /** Machine instructions for a weight, see the ledger of first choices. */
  private static final double INSTRUCTIONS = 2;

  /** The latency of DRAM under load. */
  private static final double LATENCY_CYCLES = 900;

  /**
   * The plans for a problem. Wide blocks execute fewer instructions for a weight; narrow ones fill
   * a GPU with fewer columns. Rows of AWQ with 32 columns would be less than a sector, and for
   * several rows of the left matrix narrow blocks would have too little shared memory.
   */
  static List<Int4GemvPlan> of(ProjectionProblem problem, double weightBytes, Capability device) {
    boolean narrow =
        problem.m() <= 2
            && !(problem.packing() instanceof Packing.AlongN along
                && along.format() == ColumnWeights.Format.AWQ);
    return (narrow ? List.of(64, 32) : List.of(64))
        .stream().map(n -> new Int4GemvPlan(problem, n, weightBytes, device)).toList();
  }

  /** The kernel that computes all of K. */
  Int4Gemv variant() {
    return new Int4Gemv(
        problem.packing(),
        problem.in(),
        problem.out(),
        Math.min(MOST_ROWS, Integer.highestOneBit(2 * problem.m() - 1)),
        columns,
        Math.min(Int4Slot.DEPTH, 1 << Math.min(problem.groupShift(), 30)),
        Math.min(Int4Gemv.MOST_ALIGNMENT, Integer.lowestOneBit(problem.k())),
        Math.min(Int4Gemv.MOST_ALIGNMENT, problem.alignment()),
        problem.projections().size(),
        false);
  }

  /** Blocks of the grid's first dimension. */
  long blocks() {
    return problem.blocks(columns);
  }

  /** Blocks of the grid's second dimension, which take some rows each. */
  private int groups() {
    return Math.ceilDiv(problem.m(), variant().rows());
  }

  /** How much of K the warps of a block take in a step of each. */
  private int depthOfRound() {
    return Int4Slot.DEPTH * variant().threads() / KernelBuilder.WARP;
  }

  /**
   * How blocks share K where there are fewer of them than multiprocessors, with a step of each warp
   * as a stage. One launch of several products computes each whole.
   */
  Optional<Shares> shares() {
    return problem.projections().size() > 1
        ? Optional.empty()
        : Shares.of(Math.ceilDiv(problem.k(), depthOfRound()), blocks() * groups(), device);
  }

  /**
   * The cycles beside those of the first launch: a multiprocessor decodes, while the bytes that its
   * blocks have in flight arrive once in the latency of DRAM.
   *
   * @param bytesPerCycle what a multiprocessor receives when all do
   * @param mostBytesPerCycle what one receives at most
   */
  double cycles(int shares, double bytesPerCycle, double mostBytesPerCycle) {
    var variant = variant();
    double all = (double) blocks() * groups() * shares;
    double waves = Math.ceil(all / device.multiprocessors());
    double depth = Math.ceilDiv(problem.k(), shares);
    double decoding = waves * columns * depth * INSTRUCTIONS / LaunchTime.LANES;
    double busy = Math.min(all, device.multiprocessors());
    double resident =
        Math.min(
            Math.ceil(all / busy),
            Math.max(1, device.sharedBytesPerBlockOptIn() / variant.sharedBytes()));
    double rate = Math.min(mostBytesPerCycle, resident * variant.bytesInFlight() / LATENCY_CYCLES);
    double total = Math.min(busy * rate, bytesPerCycle * device.multiprocessors());
    return Math.max(decoding, groups() * weightBytes / total);
  }

  /** The launch that computes all of K. */
  List<Step> whole() {
    return List.of(step(variant(), 1, problem.slots(Slot::output)));
  }

  /** The launches that compute shares of K and add their sums. */
  List<Step> split(Shares shares) {
    var projection = problem.projections().getFirst();
    var sums = new Slot.Workspace(0);
    var slots = problem.slots(_ -> sums);
    slots.add(Slot.of(shares.stages() * depthOfRound()));
    var second =
        ShareSumVariant.of(
            ProjectionParameters.epilogue(problem.packing(), problem.out()), projection.n());
    return List.of(
        step(variant().split(), shares.count(), slots),
        second.step(
            sums,
            Slot.output(projection.output()),
            problem.m() * projection.n(),
            projection.n(),
            shares.count(),
            1));
  }

  /** The memory for the sums of shares. */
  long workspaceBytes(Shares shares) {
    return ShareSumVariant.workspaceBytes(
        ProjectionParameters.epilogue(problem.packing(), problem.out()),
        (long) problem.m() * problem.projections().getFirst().n(),
        shares.count());
  }

  private Step step(Int4Gemv variant, int shares, List<Slot> slots) {
    return new Step(
        variant,
        new Dim3((int) blocks(), groups(), shares),
        variant.threads(),
        variant.sharedBytes(),
        slots);
  }
}
