package dev.athanor.ops.quant;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Candidates;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Variant;
import java.util.List;
import java.util.Map;

/** Chooses how products with quantised weights are computed. */
final class ProjectionPlanner {

  /** How many rows of the left matrix a block of a GEMV takes at most. */
  private static final int MOST_ROWS = 8;

  private static final int STAGES = 4;

  /** How many blocks of a GEMV a multiprocessor runs at once. */
  private static final int RESIDENT = 8;

  /** What decoding a weight costs, in multiply-adds. */
  private static final int DECODING = 4;

  private final ProjectionProblem problem;
  private final Capability device;
  private final Candidates candidates;

  private ProjectionPlanner(String op, ProjectionProblem problem, Capability device) {
    this.problem = problem;
    this.device = device;
    this.candidates = new Candidates(op, device);
  }

  /** The plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(
      String op, ProjectionProblem problem, Map<String, TensorType> inputs, Capability device) {
    var planner = new ProjectionPlanner(op, problem, device);
    if (planner.candidates.runs(Target.SM_80, op)) {
      planner.offerAll();
    }
    var outputs = problem.outputs();
    return planner.candidates.plans(
        outputs, Plan.Cost.of(problem.flops(), inputs, outputs));
  }

  private void offerAll() {
    if (problem.packing() instanceof Packing.AlongN along) {
      offerColumns(along);
    } else {
      offerRows();
    }
  }

  /** Rows that a block of a GEMV takes: a power of two, and not many more than there are. */
  private int rows() {
    return Math.min(MOST_ROWS, powerOfTwo(problem.m()));
  }

  private static int powerOfTwo(int atLeast) {
    return atLeast <= 1 ? 1 : Integer.highestOneBit(atLeast - 1) * 2;
  }

  private void offerRows() {
    int length = RowWeights.longestRun(problem.packing(), problem.k());
    boolean wide =
        !(problem.packing() instanceof Packing.Block(var format))
            || BlockFormat.alignment(format) == 16;
    for (boolean split : List.of(false, true)) {
      if (wide) {
        offerRows(length, split ? 1 : 2, split, 0);
      }
      if (problem.packing() instanceof Packing.Block) {
        offerRows(length, 1, split, STAGES);
      }
    }
  }

  private void offerRows(int length, int columns, boolean split, int stages) {
    var variant =
        new RowGemv(
            problem.packing(),
            problem.in(),
            problem.out(),
            length,
            rows(),
            columns,
            split,
            stages,
            problem.projections().size());
    int lanes = split ? RowGemv.THREADS : KernelBuilder.WARP;
    double steps = Math.ceil((double) problem.k() / (lanes * (double) length));
    offer(variant, variant.tile(), steps * length * columns, RowGemv.THREADS, variant.sharedBytes());
  }

  private void offerColumns(Packing.AlongN along) {
    var variant =
        new ColumnGemv(
            along,
            problem.in(),
            problem.out(),
            rows(),
            along.format().columns(problem.alignment(), ColumnGemv.columns(along.format())),
            problem.k() % ColumnWeights.ROWS == 0,
            problem.projections().size());
    double steps =
        Math.ceil((double) problem.k() / (ColumnWeights.ROWS * (double) ColumnGemv.WAYS));
    offer(
        variant,
        variant.tile(),
        steps * ColumnWeights.ROWS * variant.columns(),
        ColumnGemv.THREADS,
        0);
  }

  /**
   * Offers a GEMV.
   *
   * @param weights how many a lane decodes
   */
  private void offer(Variant variant, int tile, double weights, int threads, int shared) {
    long blocks = problem.blocks(tile);
    int groups = Math.ceilDiv(problem.m(), rows());
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(
          variant.name(), "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
      return;
    }
    double waves = Math.ceil(blocks * (double) groups / (RESIDENT * device.multiprocessors()));
    double each = weights * (DECODING + rows());
    candidates.offer(
        waves * each,
        "%.0f waves of blocks, each %.0f; weights are read %d times"
            .formatted(waves, each, groups),
        new Step(variant, new Dim3((int) blocks, groups, 1), threads, shared, problem.slots()));
  }
}
