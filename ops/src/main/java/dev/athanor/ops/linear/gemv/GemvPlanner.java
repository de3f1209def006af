package dev.athanor.ops.linear.gemv;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.BatchParameters;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.tile.Epilogue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/** Offers the kernels for products of matrices and vectors. */
public final class GemvPlanner {

  private static final List<Integer> LANES_OF_A_ROW = List.of(32, GemvVariant.THREADS, 8);

  /** The maximum blocks per multiprocessor when K is split. */
  private static final int BLOCKS = 4;

  /** Registers per thread, most of them for loads in flight. */
  private static final int REGISTERS = 64;

  /** Instructions per multiply-add: the FMA and the conversion of an element. */
  private static final double INSTRUCTIONS = 2;

  private GemvPlanner() {}

  public static void offer(GemvProblem problem, Capability capability, Candidates candidates) {
    for (int lanes : problem.product().transposeA() ? List.of(32) : LANES_OF_A_ROW) {
      var variant = new GemvVariant(problem.product(), problem.access(), lanes);
      long blocks =
          (long) Math.ceilDiv(problem.outputs(), variant.outputs())
              * problem.batch().productsPerLaunch();
      if (blocks > Integer.MAX_VALUE) {
        candidates.refuse(
            variant.name(), "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
        continue;
      }
      var machine = Machine.of(capability);
      var work = work(problem, variant, problem.depth(), machine);
      candidates.offer(
          variant.name(),
          problem.batch().starts().size() * machine.microseconds(blocks, work, bytes(problem)),
          "%d blocks, %d per multiprocessor".formatted(blocks, machine.resident(work)),
          whole(problem, variant, (int) blocks),
          0);
      offerSplit(problem, variant, (int) blocks, capability, candidates);
    }
  }

  /**
   * Offers a split-K kernel with the cheapest number of parts; a second launch adds the partial
   * sums.
   */
  private static void offerSplit(
      GemvProblem problem,
      GemvVariant variant,
      int blocks,
      Capability capability,
      Candidates candidates) {
    var machine = Machine.of(capability);
    int most = Math.ceilDiv(problem.depth(), variant.step());
    IntStream.rangeClosed(1, BLOCKS)
        .mapToLong(each -> Math.ceilDiv((long) each * capability.multiprocessors(), blocks))
        .map(wanted -> Math.min(wanted, most))
        .filter(wanted -> wanted > 1)
        .distinct()
        .mapToObj(wanted -> Parts.of(problem, variant, (int) wanted))
        .min(
            Comparator.comparingDouble(
                parts -> microseconds(problem, variant, blocks, parts, machine)))
        .ifPresent(parts -> {
          var sums = problem.product();
          var partial = new GemvVariant(sums.ofShares(), variant.access(), variant.lanes());
          long outputs = problem.outputs() * problem.batch().productsPerLaunch();
          candidates.offer(
              "%s_split%d".formatted(variant.name(), parts.count),
              problem.batch().starts().size()
                  * microseconds(problem, variant, blocks, parts, machine),
              "split-K with %d parts, %d blocks, and a second launch"
                  .formatted(parts.count, (long) blocks * parts.count),
              split(problem, partial, blocks, parts.chunk, parts.count),
              ShareSumVariant.workspaceBytes(sums.epilogue(), outputs, parts.count));
        });
  }

  /** Parts of K, each a whole number of steps; the last may be shorter. */
  private record Parts(int count, int chunk) {
    static Parts of(GemvProblem problem, GemvVariant variant, int wanted) {
      int chunk =
          Math.ceilDiv(Math.ceilDiv(problem.depth(), wanted), variant.step()) * variant.step();
      return new Parts(Math.ceilDiv(problem.depth(), chunk), chunk);
    }
  }

  /** Returns the time of a split-K launch and of the launch that adds the partial sums. */
  private static double microseconds(
      GemvProblem problem, GemvVariant variant, int blocks, Parts parts, Machine machine) {
    var work = work(problem, variant, parts.chunk, machine);
    double results = (double) problem.outputs() * problem.batch().productsPerLaunch() * Float.BYTES;
    return machine.microseconds((long) blocks * parts.count, work, bytes(problem))
        + machine.sum(parts.count * results, results, ShareSumVariant.rounds(parts.count));
  }

  /** Returns the bytes of the matrices, which a launch reads from memory. */
  private static double bytes(GemvProblem problem) {
    return (double) problem.outputs()
        * problem.depth()
        * problem.product().dtype().bytes()
        * problem.batch().productsPerLaunch();
  }

  /**
   * Returns the work of a block; K is padded to whole steps.
   *
   * @param depth the block's part of K
   */
  private static BlockWork work(
      GemvProblem problem, GemvVariant variant, int depth, Machine machine) {
    int rounds = Math.ceilDiv(depth, variant.step());
    double elements = (double) variant.outputs() * rounds * variant.step();
    double moved = (double) GemvVariant.THREADS * GemvVariant.UNROLL * variant.access();
    var type = Epilogue.type(problem.product().dtype());
    return new BlockWork(
        GemvVariant.THREADS,
        REGISTERS,
        0,
        Math.max(
            machine.issueCycles(INSTRUCTIONS * elements / KernelBuilder.WARP),
            machine.laneCycles(elements, type)),
        Machine.BARRIER_CYCLES,
        rounds * moved,
        // a round waits for its loads before computing, so they are in flight about half of the
        // time
        moved / 2);
  }

  private static List<Step> whole(GemvProblem problem, GemvVariant variant, int blocks) {
    return problem.batch().starts().stream()
        .map(start ->
            new Step(
                variant,
                Dim3.of(blocks),
                GemvVariant.THREADS,
                0,
                arguments(problem, start, y(problem, start), problem.depth(), 0)
                    .with(problem.product().epilogue().arguments(problem.alpha()))))
        .toList();
  }

  private static List<Step> split(
      GemvProblem problem, GemvVariant partial, int blocks, int chunk, int parts) {
    var product = problem.product();
    var sum = ShareSumVariant.of(product.epilogue(), problem.columns());
    long outputs = problem.outputs() * problem.batch().productsPerLaunch();
    var workspace = new Slot.Workspace(0);
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      steps.add(
          new Step(
              partial,
              Dim3.of(blocks, parts),
              GemvVariant.THREADS,
              0,
              arguments(problem, start, workspace, chunk, outputs)
                  .with(partial.product().epilogue().arguments(1))));
      steps.add(
          sum.step(
              workspace,
              y(problem, start),
              Math.toIntExact(outputs),
              problem.columns(),
              parts,
              problem.alpha()));
    }
    return steps;
  }

  private static Slot y(GemvProblem problem, Batch.Start start) {
    return new Slot.Output(
        problem.names().out(),
        start.c() * problem.outputs() * problem.product().epilogue().out().bytes());
  }

  /** Returns the arguments of {@link GemvKernel} but those of the epilogue. */
  private static Arguments arguments(
      GemvProblem problem, Batch.Start start, Slot y, int chunk, long strideSplit) {
    int bytes = problem.product().dtype().bytes();
    long matrix = (long) problem.outputs() * problem.depth();
    var names = problem.names();
    return BatchParameters.arguments(problem.batch(), matrix, problem.depth(), problem.outputs())
        .with("matrix", new Slot.Input(names.matrix(), start.a() * matrix * bytes))
        .with("x", new Slot.Input(names.vector(), start.b() * problem.depth() * bytes))
        .with("y", y)
        .with("outputs", problem.outputs())
        .with("depth", problem.depth())
        .with("ld", problem.leadingDimension())
        .with("chunk", chunk)
        .with("strideSplit", strideSplit)
        .with("columnStep", problem.columnStep());
  }
}
