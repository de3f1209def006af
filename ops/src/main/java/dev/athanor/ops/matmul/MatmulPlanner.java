package dev.athanor.ops.matmul;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Candidates;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Chooses how a product is computed. */
final class MatmulPlanner {

  /** The best first where a problem is large. */
  private static final List<Tile> TILES =
      List.of(
          new Tile(Tile.Unit.CORES, 128, 128, 16, 8, 8, 1),
          new Tile(Tile.Unit.CORES, 64, 64, 16, 4, 4, 1),
          new Tile(Tile.Unit.CORES, 32, 32, 16, 4, 4, 1));

  private MatmulPlanner() {}

  /** The plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(MatmulProblem problem, Capability capability) {
    var candidates = new Candidates("product of " + problem.dtype().text(), capability);
    for (var tile : TILES) {
      judge(tile, problem, capability, candidates);
    }
    TensorPlanner.offer(problem, capability, candidates);
    return candidates.plans(Map.of("c", problem.output()), problem.cost());
  }

  private static void judge(
      Tile tile, MatmulProblem problem, Capability capability, Candidates candidates) {
    if (problem.onTensorCores()) {
      candidates.refuse(
          "%s %s".formatted(tile.unit(), tile),
          problem.dtype().text() + " is multiplied by tensor cores");
      return;
    }
    var variant = variant(problem, tile);
    var name = variant.name();
    if (!candidates.runs(Target.SM_80, name)) {
      return;
    }
    long blocks = blocks(tile, problem);
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
      return;
    }
    // Time goes as the waves of blocks, and as what a block reads and multiplies in each step of K.
    double waves = Math.ceil(blocks / (double) capability.multiprocessors());
    double step = tile.m() * tile.n() + 16.0 * (tile.m() + tile.n());
    candidates.offer(
        name,
        waves * step,
        "%.0f waves of blocks, each %.0f".formatted(waves, step),
        steps(problem, variant, (int) blocks),
        0);
  }

  private static List<Step> steps(MatmulProblem problem, MatmulVariant variant, int blocks) {
    long matrixA = (long) problem.m() * problem.k();
    long matrixB = (long) problem.k() * problem.n();
    long matrixC = (long) problem.m() * problem.n();
    int bytes = problem.dtype().bytes();
    var inner = problem.batch().inner();
    int shared = 0;
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      var c = new Slot.Output("c", start.c() * matrixC * problem.outDType().bytes());
      steps.add(
          new Step(
              variant,
              Dim3.of(blocks),
              variant.tile().threads(),
              shared,
              List.of(
                  new Slot.Input("a", start.a() * matrixA * bytes),
                  new Slot.Input("b", start.b() * matrixB * bytes),
                  // a kernel without bias never reads the pointer
                  problem.bias() ? Slot.input("bias") : c,
                  c,
                  Slot.of(problem.m()),
                  Slot.of(problem.n()),
                  Slot.of(problem.k()),
                  Slot.of(problem.leadingDimensionA()),
                  Slot.of(problem.leadingDimensionB()),
                  Slot.of(inner.strideA() * matrixA),
                  Slot.of(inner.strideB() * matrixB),
                  Slot.of(matrixC),
                  Slot.of(problem.alpha()))));
    }
    return steps;
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
