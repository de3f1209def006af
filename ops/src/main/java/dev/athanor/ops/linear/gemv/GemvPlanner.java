package dev.athanor.ops.linear.gemv;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.BatchParameters;
import dev.athanor.ops.linear.ShareSumVariant;
import java.util.ArrayList;
import java.util.List;

/** The ways to compute products of matrices and vectors. */
public final class GemvPlanner {

  private static final List<Integer> LANES_OF_A_ROW = List.of(32, GemvVariant.THREADS, 8);

  /** How many blocks a multiprocessor should have, and how many rounds of loads a block. */
  private static final int BLOCKS = 2;

  private static final int ROUNDS = 4;

  /** Multiply-adds in the time that a byte of the matrix takes. */
  private static final double BYTE = 4;

  private GemvPlanner() {}

  public static void offer(GemvProblem problem, Capability capability, Candidates candidates) {
    for (int lanes : problem.product().transposeA() ? List.of(32) : LANES_OF_A_ROW) {
      var variant = new GemvVariant(problem.product(), problem.access(), lanes);
      if (!candidates.runs(Target.SM_80, variant.name())) {
        continue;
      }
      long blocks =
          (long) Math.ceilDiv(problem.outputs(), variant.outputs())
              * problem.batch().productsPerLaunch();
      if (blocks > Integer.MAX_VALUE) {
        candidates.refuse(
            variant.name(), "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
        continue;
      }
      // Time goes as what a wave of blocks reads in a step of K, which it pads to whole rounds.
      double waves = Math.ceil(blocks / (double) capability.multiprocessors());
      double padded = Math.ceilDiv(problem.depth(), variant.step()) * (double) variant.step();
      double step =
          BYTE * problem.product().dtype().bytes() * variant.outputs() * padded / problem.depth();
      candidates.offer(
          variant.name(),
          problem.batch().starts().size() * LaunchTime.microseconds(waves * step * problem.depth()),
          "%.0f waves of blocks, each %.0f".formatted(waves, step),
          whole(problem, variant, (int) blocks),
          0);

      long wanted = Math.ceilDiv((long) BLOCKS * capability.multiprocessors(), blocks);
      long most = Math.ceilDiv(problem.depth(), ROUNDS * variant.step());
      int splits = (int) Math.min(wanted, most);
      if (splits > 1) {
        offerSplit(problem, variant, (int) blocks, splits, step, capability, candidates);
      }
    }
  }

  private static void offerSplit(
      GemvProblem problem,
      GemvVariant variant,
      int blocks,
      int splits,
      double step,
      Capability capability,
      Candidates candidates) {
    var sums = problem.product();
    var partial = new GemvVariant(sums.ofShares(), variant.access(), variant.lanes());
    int chunk =
        Math.ceilDiv(Math.ceilDiv(problem.depth(), splits), variant.step()) * variant.step();
    int parts = Math.ceilDiv(problem.depth(), chunk);
    double waves =
        Math.ceil((double) blocks * parts / (BLOCKS * (double) capability.multiprocessors()));
    long outputs = problem.outputs() * problem.batch().productsPerLaunch();
    candidates.offer(
        "%s_split%d".formatted(variant.name(), parts),
        problem.batch().starts().size()
            * (LaunchTime.MICROSECONDS
                + LaunchTime.microseconds(waves * BLOCKS * step * problem.depth() / parts)),
        "%.0f waves of blocks, each %.0f of %d parts of K, and a second launch"
            .formatted(waves, step * BLOCKS, parts),
        split(problem, partial, blocks, chunk, parts),
        ShareSumVariant.workspaceBytes(sums.epilogue(), outputs, parts));
  }

  private static List<Step> whole(GemvProblem problem, GemvVariant variant, int blocks) {
    return problem.batch().starts().stream()
        .map(start ->
            new Step(
                variant,
                Dim3.of(blocks),
                GemvVariant.THREADS,
                0,
                slots(
                    problem,
                    start,
                    y(problem, start),
                    problem.depth(),
                    0,
                    problem.product().epilogue().slots(problem.alpha()))))
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
              slots(
                  problem,
                  start,
                  workspace,
                  chunk,
                  outputs,
                  partial.product().epilogue().slots(1))));
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

  /** The arguments of {@link GemvKernel}. */
  private static List<Slot> slots(
      GemvProblem problem,
      Batch.Start start,
      Slot y,
      int chunk,
      long strideSplit,
      List<Slot> ofEpilogue) {
    int bytes = problem.product().dtype().bytes();
    long matrix = (long) problem.outputs() * problem.depth();
    var slots =
        new ArrayList<>(
            List.of(
                new Slot.Input(problem.names().matrix(), start.a() * matrix * bytes),
                new Slot.Input(problem.names().vector(), start.b() * problem.depth() * bytes),
                y,
                Slot.of(problem.outputs()),
                Slot.of(problem.depth()),
                Slot.of(problem.leadingDimension()),
                Slot.of(chunk)));
    slots.addAll(
        BatchParameters.slots(problem.batch(), matrix, problem.depth(), problem.outputs()));
    slots.add(Slot.of(strideSplit));
    slots.add(Slot.of(problem.columnStep()));
    slots.addAll(ofEpilogue);
    return slots;
  }
}
