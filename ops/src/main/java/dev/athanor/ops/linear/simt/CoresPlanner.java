package dev.athanor.ops.linear.simt;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.linear.simt.CoresTile.Unit;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import java.util.ArrayList;
import java.util.List;

/** Offers the kernels that compute products of f32 and f64. */
public final class CoresPlanner {

  /**
   * A thread multiplies 8x8 in 137 to 161 registers. Blocks of 128 such threads are three on a
   * multiprocessor, and while one waits at a barrier the others multiply. A tile of 128x128 has 256
   * threads, of which a multiprocessor can run one block; limited to 128 registers they spill.
   */
  private static final List<CoresTile> SINGLE =
      List.of(
          new CoresTile(Unit.LANES, 128, 64, 8, 8, 8),
          new CoresTile(Unit.LANES, 64, 64, 16, 4, 4),
          new CoresTile(Unit.LANES, 32, 32, 16, 4, 4));

  /** An f64 takes two registers and two banks. */
  private static final List<CoresTile> DOUBLE =
      List.of(
          new CoresTile(Unit.MMA, 64, 64, 16, 32, 32),
          new CoresTile(Unit.MMA, 32, 32, 16, 16, 16),
          new CoresTile(Unit.LANES, 64, 64, 16, 4, 4),
          new CoresTile(Unit.LANES, 32, 32, 16, 4, 4));

  /** How much longer a multiply-add takes whose factors both come from global memory. */
  private static final double NAIVE = 128;

  /** The blocks that a multiprocessor should have when blocks share K. */
  private static final int BLOCKS = 2;

  private final MatmulProblem problem;
  private final Capability device;
  private final Candidates candidates;

  private CoresPlanner(MatmulProblem problem, Capability device, Candidates candidates) {
    this.problem = problem;
    this.device = device;
    this.candidates = candidates;
  }

  /** Offers what computes a product of f32 or f64. */
  public static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    if (problem.onTensorCores()) {
      candidates.refuse(
          "one multiply-add a lane", problem.dtype().text() + " is multiplied by tensor cores");
      return;
    }
    var planner = new CoresPlanner(problem, capability, candidates);
    for (var tile : problem.dtype() == DType.F32 ? SINGLE : DOUBLE) {
      planner.offer(tile);
    }
    var naive = new NaiveVariant(Product.of(problem));
    planner.whole(
        naive,
        ProductParameters.blocks(problem, NaiveVariant.TILE_M, NaiveVariant.TILE_N),
        NaiveVariant.THREADS,
        NAIVE * NaiveVariant.THREADS);
  }

  private void offer(CoresTile tile) {
    var product = Product.of(problem);
    var whole = variant(product, tile);
    long blocks = ProductParameters.blocks(problem, tile.m(), tile.n());
    // Time goes as what a block multiplies and reads in a step of K; tensor cores multiply f64 at
    // twice the rate.
    double rate = tile.unit() == Unit.MMA ? 2 : 1;
    double step = tile.m() * tile.n() / rate + 16.0 * (tile.m() + tile.n());
    if (whole(whole, blocks, tile.threads(), step)) {
      Shares.atMost(
              (long) BLOCKS * device.multiprocessors() / blocks,
              Math.ceilDiv(problem.k(), tile.k()))
          .ifPresent(
              shares -> split(variant(product.ofShares(), tile), whole, blocks, shares, step));
    }
  }

  private CoresVariant variant(Product product, CoresTile tile) {
    return new CoresVariant(
        product,
        tile,
        Operand.access(problem.leadingDimensionA(), problem.dtype()),
        Operand.access(problem.leadingDimensionB(), problem.dtype()),
        Operand.access(problem.n(), problem.dtype()));
  }

  /**
   * Offers a launch whose blocks compute all of K.
   *
   * @param step multiply-adds that take as long as a block takes for 1 of K
   * @return whether the device can run it
   */
  private boolean whole(Variant variant, long blocks, int threads, double step) {
    if (!candidates.runs(Target.SM_80, variant.name())) {
      return false;
    }
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
      return false;
    }
    double waves = waves(blocks);
    var starts = problem.batch().starts();
    var steps =
        starts.stream()
            .map(start ->
                new Step(
                    variant,
                    Dim3.of((int) blocks),
                    threads,
                    0,
                    ProductParameters.slots(problem, start)))
            .toList();
    candidates.offer(
        variant.name(),
        starts.size() * LaunchTime.microseconds(waves * step * problem.k()),
        "%.0f waves of blocks, each %.0f".formatted(waves, step),
        steps,
        0);
    return true;
  }

  /** Offers a launch whose blocks share K, and one that adds their sums. */
  private void split(
      CoresVariant first, CoresVariant whole, long tiles, Shares shares, double step) {
    int depth = shares.stages() * first.tile().k();
    int count = Math.toIntExact(ProductParameters.elements(problem));
    var second = ShareSumVariant.of(problem.epilogue(), problem.n());
    long bytes = ShareSumVariant.workspaceBytes(problem.epilogue(), count, shares.count());
    var sums = new Slot.Workspace(0);
    var starts = problem.batch().starts();
    var steps = new ArrayList<Step>();
    for (var start : starts) {
      steps.add(
          new Step(
              first,
              Dim3.of((int) tiles, shares.count()),
              first.tile().threads(),
              0,
              ProductParameters.slots(problem, start, sums, depth)));
      steps.add(
          second.step(
              sums,
              ProductParameters.c(problem, start),
              count,
              problem.n(),
              shares.count(),
              problem.alpha()));
    }
    double waves = waves(tiles * shares.count());
    candidates.offer(
        "%s_split%d".formatted(whole.name(), shares.count()),
        starts.size()
            * (LaunchTime.microseconds(waves * step * depth)
                + LaunchTime.MICROSECONDS
                // the sums are written and read
                + LaunchTime.memoryMicroseconds(2.0 * bytes, device)),
        "%.0f waves of blocks, each %.0f of %d shares of K, and a second launch"
            .formatted(waves, step, shares.count()),
        steps,
        bytes);
  }

  private double waves(long blocks) {
    return Math.ceil(blocks / (double) device.multiprocessors());
  }
}
