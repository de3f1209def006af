package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.LaunchTime;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.MatrixStaging;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TensorTile;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Offers the kernels that multiply on tensor cores with {@code mma.sync}, which every GPU from
 * sm_80 on has.
 */
final class TensorPlanner {

  /** A tile, its depth in bytes: so many chunks a row, whatever the elements are. */
  private record Shape(int m, int n, int depthBytes, int warpM, int warpN, int stages) {

    TensorTile tile(DType dtype) {
      return new TensorTile(m, n, depthBytes / dtype.bytes(), warpM, warpN, stages);
    }
  }

  private static final List<Shape> SHAPES =
      List.of(
          new Shape(128, 256, 64, 64, 64, 4),
          new Shape(128, 128, 128, 64, 32, 3),
          new Shape(128, 128, 64, 64, 32, 3),
          new Shape(128, 64, 64, 64, 32, 4),
          new Shape(64, 128, 64, 32, 64, 4),
          new Shape(64, 64, 64, 32, 32, 3),
          new Shape(32, 64, 64, 16, 32, 4),
          new Shape(16, 128, 128, 16, 32, 4));

  /** Elements of the smallest tiles, which compute whatever is smaller. */
  private static final int SMALL = 2048;

  /** How many times a larger tile may be as large as what it computes. */
  private static final int WASTE = 4;

  /** The most registers that a thread can have. */
  private static final int MOST_REGISTERS = 255;

  /** Registers of a thread for what all kernels have: addresses, sizes, places in the ring. */
  private static final int OTHER_REGISTERS = 48;

  /**
   * Registers of a thread for products that are promoted. ptxas computes all products of a stage
   * before it adds the first, so they need registers beside those of the sums: more than these, and
   * some spill.
   */
  private static final int PROMOTED_REGISTERS = 128;

  /** Multiply-adds of 16-bit elements that a multiprocessor does in a cycle. */
  private static final double PRODUCTS_PER_CYCLE = 1024;

  /** Cycles until the first stage of a block is there. */
  private static final double BLOCK_CYCLES = 1500;

  /** Cycles from one stage to the next that nothing shortens. */
  private static final double STAGE_CYCLES = 100;

  private TensorPlanner() {}

  /** Offers what the device can run, and says why it cannot run the rest. */
  static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    if (!problem.onTensorCores()) {
      candidates.refuse("tensor cores", problem.dtype().text() + " is multiplied by CUDA cores");
      return;
    }
    for (var shape : SHAPES) {
      var variant =
          new TensorVariant(
              shape.tile(problem.dtype()),
              problem.a(),
              problem.b(),
              factors(problem, capability.target()),
              Optional.of(problem.epilogue()),
              Operand.access(problem.n(), problem.outDType()));
      if (!candidates.runs(isFp8(problem.dtype()) ? Target.SM_89 : Target.SM_80, variant.name())) {
        continue;
      }
      var refusal = refusal(problem, variant, capability.target());
      if (refusal.isPresent()) {
        candidates.refuse(variant.name(), refusal.get());
        continue;
      }
      whole(problem, variant, capability, candidates);
      split(problem, variant, capability, candidates);
    }
  }

  private static Optional<String> refusal(
      MatmulProblem problem, TensorVariant variant, Target target) {
    var tile = variant.tile();
    long area = (long) tile.m() * tile.n();
    if (area > SMALL && area > WASTE * upTo16(problem.m()) * upTo16(problem.n())) {
      return Optional.of("smaller tiles leave less of a block idle");
    }
    var mma = variant.mma();
    if (mma.hasReducedAccumulatorPrecision()
        && tile.warpM() * tile.warpN() / 32 * (tile.k() / mma.k()) > PROMOTED_REGISTERS) {
      return Optional.of(
          "its registers would not suffice for sums of fp8 that leave the tensor cores every %d of K"
              .formatted(mma.k()));
    }
    int registers = registers(variant, target);
    if (registers > MOST_REGISTERS) {
      return Optional.of(
          "with rows aligned to %d bytes it takes about %d registers a thread on %s, and %d are the most"
              .formatted(access(variant), registers, target, MOST_REGISTERS));
    }
    if (blocks(problem, tile) > Integer.MAX_VALUE) {
      return Optional.of(
          "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks(problem, tile)));
    }
    return Optional.empty();
  }

  /**
   * Estimates the registers that a thread needs without spilling: its sums, the fragments of a step
   * and of the next, those of single bytes once more, and two for each piece that it moves.
   */
  static int registers(TensorVariant variant, Target target) {
    var tile = variant.tile();
    boolean fp8 = isFp8(variant.a().dtype());
    int pieces =
        MatrixStaging.pieces(variant.stageA(), variant.a().access(), tile.threads())
            + MatrixStaging.pieces(variant.stageB(), variant.b().access(), tile.threads());
    int sums = tile.warpM() * tile.warpN() / 32;
    int fragments = tile.warpM() / 16 * 4 + tile.warpN() / 8 * 2;
    int held = 2;
    int widened = variant.factors() == Factors.WIDENED ? tile.warpN() / 8 * 4 + 8 : 0;
    if (fp8 && access(variant) < MatrixStaging.LEAST_COPY) {
      held++; // single bytes that no asynchronous copy can bring
    }
    return sums + held * fragments + widened + 2 * pieces + OTHER_REGISTERS;
  }

  private static Factors factors(MatmulProblem problem, Target target) {
    boolean multipliesFp8 = target.sm() == 89 || target.sm() >= 120;
    return isFp8(problem.dtype()) && !multipliesFp8 ? Factors.WIDENED : Factors.PLAIN;
  }

  private static int access(TensorVariant variant) {
    return Math.min(variant.a().access(), variant.b().access());
  }

  private static boolean isFp8(DType dtype) {
    return dtype == DType.E4M3 || dtype == DType.E5M2;
  }

  private static long upTo16(int extent) {
    return Math.ceilDiv(extent, 16) * 16L;
  }

  /** A block computes its tile from the first of K to the last. */
  private static void whole(
      MatmulProblem problem, TensorVariant variant, Capability capability, Candidates candidates) {
    var tile = variant.tile();
    long blocks = blocks(problem, tile);
    double rounds = Math.ceil(blocks / (double) capability.multiprocessors());
    int stages = Math.ceilDiv(problem.k(), tile.k());
    double cycles = rounds * blockCycles(problem, variant, stages, problem.outDType());
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      var slots = ProductParameters.operands(problem, start, ProductParameters.c(problem, start));
      slots.addAll(problem.epilogue().slots(problem.alpha()));
      steps.add(
          new Step(variant, Dim3.of((int) blocks), tile.threads(), variant.sharedBytes(), slots));
    }
    var reason = "%.0f blocks a multiprocessor".formatted(rounds);
    offer(problem, candidates, variant.name(), cycles, steps, 0, reason);
  }

  /** Several blocks share K, and a second launch adds what they have. */
  private static void split(
      MatmulProblem problem, TensorVariant whole, Capability capability, Candidates candidates) {
    var tile = whole.tile();
    long blocks = blocks(problem, tile);
    int stages = Math.ceilDiv(problem.k(), tile.k());
    var found = Shares.of(stages, blocks, capability);
    if (found.isEmpty()) {
      return;
    }
    var shares = found.get();
    var first =
        new TensorVariant(
            tile, whole.a(), whole.b(), whole.factors(), Optional.empty(), whole.accessC());
    var second =
        new SplitVariant(
            tile, whole.mma().sum(), whole.order(), problem.epilogue(), whole.accessC());
    long bytes = SplitVariant.workspaceBytes(tile, blocks * shares.count());
    double cycles =
        blockCycles(problem, first, shares.stages(), DType.F32)
            + bytes / (LaunchTime.BYTES_PER_CYCLE * capability.multiprocessors());
    var steps = new ArrayList<Step>();
    for (var start : problem.batch().starts()) {
      var slots = ProductParameters.operands(problem, start, new Slot.Workspace(0));
      slots.add(Slot.of(shares.stages() * tile.k()));
      steps.add(
          new Step(
              first,
              new Dim3((int) blocks, shares.count(), 1),
              tile.threads(),
              first.sharedBytes(),
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

  /** The cycles that a multiprocessor takes for a block. */
  private static double blockCycles(
      MatmulProblem problem, TensorVariant variant, int stages, DType written) {
    var tile = variant.tile();
    int bytes = problem.dtype().bytes();
    double rate = PRODUCTS_PER_CYCLE * 2 / variant.mma().a().bytes();
    double multiply = (double) tile.m() * tile.n() * tile.k() / rate;
    double read = (tile.m() + tile.n()) * (double) tile.k() * bytes / LaunchTime.BYTES_PER_CYCLE;
    double write = (double) tile.m() * tile.n() * written.bytes() / LaunchTime.BYTES_PER_CYCLE;
    return BLOCK_CYCLES + stages * (Math.max(multiply, read) + STAGE_CYCLES) + write;
  }

  private static long blocks(MatmulProblem problem, TensorTile tile) {
    return ProductParameters.blocks(problem, tile.m(), tile.n());
  }
}
