package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.TileProduct;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Offers the kernels that multiply on tensor cores with {@code mma.sync}, which every GPU from
 * sm_80 on has.
 */
final class TensorPlanner {

  private TensorPlanner() {}

  /** Offers what the device can run, and says why it cannot run the rest. */
  static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    if (!problem.onTensorCores()) {
      candidates.refuse("tensor cores", problem.dtype().text() + " is multiplied by CUDA cores");
      return;
    }
    var planner = planner(problem, capability);
    for (var product : planner.tiles(candidates, each -> variant(problem, each).name())) {
      whole(problem, product, planner, candidates);
      split(problem, product, planner, candidates);
    }
  }

  private static TilePlanner planner(MatmulProblem problem, Capability capability) {
    return new TilePlanner(
        problem.m(),
        problem.n(),
        problem.k(),
        problem.batch().productsPerLaunch(),
        problem.a(),
        problem.b(),
        capability);
  }

  private static TensorVariant variant(MatmulProblem problem, TileProduct product) {
    return new TensorVariant(
        product.tile(),
        problem.a(),
        problem.b(),
        product.factors(),
        Optional.of(problem.epilogue()),
        Operand.access(problem.n(), problem.outDType()));
  }

  /** A block computes its tile from the first of K to the last. */
  private static void whole(
      MatmulProblem problem, TileProduct product, TilePlanner planner, Candidates candidates) {
    var variant = variant(problem, product);
    var tile = product.tile();
    double rounds = planner.rounds(tile);
    double cycles = rounds * planner.blockCycles(product, planner.stages(tile), problem.outDType());
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      var slots = ProductParameters.operands(problem, start, ProductParameters.c(problem, start));
      slots.addAll(problem.epilogue().slots(problem.alpha()));
      steps.add(planner.step(variant, product, problem.outDType(), slots));
    }
    var reason = "%.0f blocks a multiprocessor".formatted(rounds);
    offer(problem, candidates, variant.name(), cycles, steps, 0, reason);
  }

  /** Several blocks share K, and a second launch adds what they have. */
  private static void split(
      MatmulProblem problem, TileProduct product, TilePlanner planner, Candidates candidates) {
    var whole = variant(problem, product);
    var tile = product.tile();
    long blocks = planner.blocks(tile);
    var found = Shares.of(planner.stages(tile), blocks, planner.device());
    if (found.isEmpty()) {
      return;
    }
    var shares = found.get();
    var first =
        new TensorVariant(
            tile, whole.a(), whole.b(), whole.factors(), Optional.empty(), whole.accessC());
    var second =
        new SplitVariant(
            tile, product.mma().sum(), product.interleaving(), problem.epilogue(), whole.accessC());
    long bytes = SplitVariant.workspaceBytes(tile, blocks * shares.count());
    double cycles =
        planner.blockCycles(product, shares.stages(), DType.F32)
            + bytes / (LaunchTime.BYTES_PER_CYCLE * planner.device().multiprocessors());
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      var slots = ProductParameters.operands(problem, start, new Slot.Workspace(0));
      slots.add(Slot.of(shares.stages() * tile.k()));
      steps.add(
          new Step(
              first,
              new Dim3((int) blocks, shares.count(), 1),
              tile.threads(),
              product.sharedBytes(),
              slots));
      steps.add(
          second.step(
              new Slot.Workspace(0),
              ProductParameters.c(problem, start),
              problem.m(),
              problem.n(),
              blocks,
              shares.count(),
              problem.alpha()));
    }
    offer(
        problem,
        candidates,
        first.name() + shares.count(),
        cycles,
        steps,
        bytes,
        "K in %d shares".formatted(shares.count()));
  }

  /**
   * Offers a way.
   *
   * @param cycles that a multiprocessor takes for one round of its steps
   */
  private static void offer(
      MatmulProblem problem,
      Candidates candidates,
      String name,
      double cycles,
      List<Step> steps,
      long workspaceBytes,
      String reason) {
    double microseconds =
        steps.size() * LaunchTime.MICROSECONDS
            + problem.batch().starts().size() * cycles / LaunchTime.CYCLES_PER_MICROSECOND;
    candidates.offer(
        name,
        microseconds,
        String.format(Locale.ROOT, "about %.1f us, %s", microseconds, reason),
        steps,
        workspaceBytes);
  }
}
