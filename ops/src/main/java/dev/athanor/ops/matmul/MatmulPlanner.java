package dev.athanor.ops.matmul;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import java.util.Comparator;
import java.util.List;

/** Chooses how a product is computed. */
final class MatmulPlanner {

  /** The best first where a problem is large. */
  private static final List<Tile> TILES =
      List.of(
          new Tile(Tile.Unit.CORES, 128, 128, 16, 8, 8, 1),
          new Tile(Tile.Unit.CORES, 64, 64, 16, 4, 4, 1),
          new Tile(Tile.Unit.CORES, 32, 32, 16, 4, 4, 1),
          new Tile(Tile.Unit.TENSOR, 128, 128, 32, 64, 32, 3),
          new Tile(Tile.Unit.TENSOR, 64, 64, 32, 32, 32, 3),
          new Tile(Tile.Unit.TENSOR, 32, 32, 32, 16, 16, 3));

  private MatmulPlanner() {}

  /**
   * A tile that was looked at.
   *
   * @param cost relative time, smaller is better; infinite for one that cannot be used
   * @param reason why it cannot be used, or what it costs
   */
  record Candidate(Tile tile, double cost, String reason) {}

  /** The plans that the device can run, the cheapest first. */
  static List<MatmulPlan> plans(MatmulProblem problem, Capability capability) {
    var candidates =
        TILES.stream()
            .map(tile -> judge(tile, problem, capability))
            .sorted(Comparator.comparingDouble(Candidate::cost))
            .toList();
    var plans =
        candidates.stream()
            .filter(candidate -> Double.isFinite(candidate.cost()))
            .map(candidate -> plan(problem, candidate.tile(), candidates))
            .toList();
    if (plans.isEmpty()) {
      throw new OpException.UnsupportedOnDevice(
          "a",
          "%s (%s) cannot multiply %s; any GPU from sm_80 on can"
              .formatted(capability.name(), capability.target(), problem.dtype().text()));
    }
    return plans;
  }

  private static MatmulPlan plan(MatmulProblem problem, Tile tile, List<Candidate> candidates) {
    long blocks = blocks(tile, problem);
    if (blocks > Integer.MAX_VALUE) {
      throw new OpException.TooLarge(
          "a", "the product has %d tiles of %s; 2^31 - 1 are the most".formatted(blocks, tile));
    }
    return new MatmulPlan(problem, variant(problem, tile), (int) blocks, candidates);
  }

  private static Candidate judge(Tile tile, MatmulProblem problem, Capability capability) {
    var wanted = problem.dtype() == DType.F32 ? Tile.Unit.CORES : Tile.Unit.TENSOR;
    if (tile.unit() != wanted) {
      return refused(tile, problem.dtype().text() + " is computed by " + wanted);
    }
    if (!capability.target().runs(Target.SM_80)) {
      return refused(tile, "it needs sm_80, the device is " + capability.target());
    }
    int shared = tile.unit() == Tile.Unit.TENSOR ? TensorMatmul.sharedBytes(tile) : 0;
    if (shared > capability.sharedBytesPerBlockOptIn()) {
      return refused(
          tile,
          "it needs %d bytes of shared memory, a block has %d"
              .formatted(shared, capability.sharedBytesPerBlockOptIn()));
    }
    // Time goes as the waves of blocks, and as what a block reads and multiplies in each step of K.
    double waves = Math.ceil(blocks(tile, problem) / (double) capability.multiprocessors());
    double step = tile.m() * tile.n() + 16.0 * (tile.m() + tile.n());
    return new Candidate(
        tile, waves * step, "%.0f waves of blocks, each %.0f".formatted(waves, step));
  }

  private static Candidate refused(Tile tile, String reason) {
    return new Candidate(tile, Double.POSITIVE_INFINITY, reason);
  }

  private static long blocks(Tile tile, MatmulProblem problem) {
    return Math.ceilDiv(problem.m(), tile.m())
        * (long) Math.ceilDiv(problem.n(), tile.n())
        * problem.batch().inner().count();
  }

  private static MatmulVariant variant(MatmulProblem problem, Tile tile) {
    boolean tensor = tile.unit() == Tile.Unit.TENSOR;
    int bytes = problem.dtype().bytes();
    return new MatmulVariant(
        tile,
        problem.dtype(),
        problem.outDType(),
        problem.transposeA(),
        problem.transposeB(),
        tensor ? access(problem.leadingDimensionA() * (long) bytes) : bytes,
        tensor ? access(problem.leadingDimensionB() * (long) bytes) : bytes,
        tensor && problem.n() % 2 == 0,
        problem.bias(),
        problem.activation());
  }

  /** The most bytes that every row begins at a multiple of, and that one copy can move. */
  private static int access(long rowBytes) {
    return (int) Math.min(16, Long.lowestOneBit(rowBytes));
  }
}
