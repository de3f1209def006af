package dev.athanor.ops.linear.simt;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Variant;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.Product;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.linear.simt.CoresTile.Unit;
import dev.athanor.ops.tile.Operand;
import java.util.List;

/** The ways to compute a product of f32 or f64. */
public final class CoresPlanner {

  private static final List<CoresTile> SINGLE =
      List.of(
          new CoresTile(Unit.LANES, 128, 128, 8, 8, 8),
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

  private CoresPlanner() {}

  /** Offers what computes a product of f32 or f64. */
  public static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    if (problem.onTensorCores()) {
      candidates.refuse(
          "one multiply-add a lane", problem.dtype().text() + " is multiplied by tensor cores");
      return;
    }
    for (var tile : problem.dtype() == DType.F32 ? SINGLE : DOUBLE) {
      var variant =
          new CoresVariant(
              Product.of(problem),
              tile,
              Operand.access(problem.leadingDimensionA(), problem.dtype()),
              Operand.access(problem.leadingDimensionB(), problem.dtype()),
              Operand.access(problem.n(), problem.dtype()));
      // Time goes as the waves of blocks, and as what a block multiplies and reads in a step of K;
      // tensor cores multiply f64 at twice the rate.
      double rate = tile.unit() == Unit.MMA ? 2 : 1;
      double step = tile.m() * tile.n() / rate + 16.0 * (tile.m() + tile.n());
      offer(problem, variant, tile.m(), tile.n(), tile.threads(), step, capability, candidates);
    }
    offer(
        problem,
        new NaiveVariant(Product.of(problem)),
        NaiveVariant.TILE_M,
        NaiveVariant.TILE_N,
        NaiveVariant.THREADS,
        NAIVE * NaiveVariant.THREADS,
        capability,
        candidates);
  }

  private static void offer(
      MatmulProblem problem,
      Variant variant,
      int tileM,
      int tileN,
      int threads,
      double step,
      Capability capability,
      Candidates candidates) {
    if (!candidates.runs(Target.SM_80, variant.name())) {
      return;
    }
    long blocks = ProductParameters.blocks(problem, tileM, tileN);
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
      return;
    }
    double waves = Math.ceil(blocks / (double) capability.multiprocessors());
    var steps =
        problem.batch().starts().stream()
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
        LaunchTime.microseconds(waves * step * problem.k()),
        "%.0f waves of blocks, each %.0f".formatted(waves, step),
        steps,
        0);
  }
}
