package dev.athanor.ops.linear.dense;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.MatrixStaging;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.Stage;
import dev.athanor.ops.tile.TensorTile;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

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

  /** Registers of a thread for what all kernels have: addresses, sizes, places in the ring. */
  private static final int OTHER_REGISTERS = 48;

  /**
   * Registers of a thread for products that are promoted. ptxas computes all products of a stage
   * before it adds the first, so they need registers beside those of the sums: more than these, and
   * some spill.
   */
  private static final int PROMOTED_REGISTERS = 128;

  /** Instructions for each {@code mma} where bytes become f16 first. */
  private static final double WIDENED_INSTRUCTIONS = 3.5;

  /** Instructions of an element that moves through registers. */
  private static final double ELEMENT_INSTRUCTIONS = 6;

  private TensorPlanner() {}

  /** Offers what the device can run, and says why it cannot run the rest. */
  static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    if (!problem.onTensorCores()) {
      candidates.refuse("tensor cores", problem.dtype().text() + " is multiplied by CUDA cores");
      return;
    }
    var inputs = Padding.none(problem);
    offer(problem, inputs, capability, candidates);
    Padding.of(problem, capability)
        .ifPresent(padded -> offer(problem, padded, capability, candidates));
  }

  /** Offers the kernels for factors as they are, or for copies with aligned rows. */
  private static void offer(
      MatmulProblem problem, Padding inputs, Capability capability, Candidates candidates) {
    for (var shape : SHAPES) {
      var variant =
          new TensorVariant(
              shape.tile(problem.dtype()),
              inputs.a().operand(),
              inputs.b().operand(),
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
      whole(problem, inputs, variant, capability, candidates);
      split(problem, inputs, variant, capability, candidates);
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
    if (registers > Machine.MOST_REGISTERS) {
      return Optional.of(
          "with rows aligned to %d bytes it takes about %d registers a thread on %s, and %d are the most"
              .formatted(access(variant), registers, target, Machine.MOST_REGISTERS));
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
      MatmulProblem problem,
      Padding inputs,
      TensorVariant variant,
      Capability capability,
      Candidates candidates) {
    var tile = variant.tile();
    long blocks = blocks(problem, tile);
    var starts = problem.batch().starts();
    var machine = Machine.of(capability);
    int stages = Math.ceilDiv(problem.k(), tile.k());
    var work = work(problem, variant, machine, stages, problem.outDType());
    double microseconds = machine.microseconds(blocks, work, bytes(problem));
    var steps = new ArrayList<>(inputs.steps());
    for (var start : starts) {
      var slots =
          ProductParameters.operands(
              problem, inputs.a(), inputs.b(), start, ProductParameters.c(problem, start));
      slots.addAll(problem.epilogue().slots(problem.alpha()));
      steps.add(
          new Step(variant, Dim3.of((int) blocks), tile.threads(), variant.sharedBytes(), slots));
    }
    candidates.offer(
        variant.name() + inputs.suffix(),
        inputs.microseconds(machine) + starts.size() * microseconds,
        "%d blocks, %d on a multiprocessor%s"
            .formatted(blocks, machine.resident(work), inputs.explanation()),
        steps,
        inputs.workspaceBytes());
  }

  /** Several blocks share K, and a second launch adds what they have. */
  private static void split(
      MatmulProblem problem,
      Padding inputs,
      TensorVariant whole,
      Capability capability,
      Candidates candidates) {
    var tile = whole.tile();
    long blocks = blocks(problem, tile);
    var machine = Machine.of(capability);
    var first =
        new TensorVariant(
            tile, whole.a(), whole.b(), whole.factors(), Optional.empty(), whole.accessC());
    int stages = Math.ceilDiv(problem.k(), tile.k());
    ToDoubleFunction<Shares> microseconds =
        shares -> {
          var work = work(problem, first, machine, shares.stages(), DType.F32);
          double bytes = SplitVariant.workspaceBytes(tile, blocks * shares.count());
          return machine.microseconds(blocks * shares.count(), work, bytes(problem))
              + machine.sum(
                  bytes,
                  (double) blocks * tile.m() * tile.n() * problem.outDType().bytes(),
                  SplitVariant.rounds(shares.count()));
        };
    var found = Shares.cheapest(stages, blocks, capability, microseconds);
    if (found.isEmpty()) {
      return;
    }
    var shares = found.get();
    var second =
        new SplitVariant(
            tile, whole.mma().sum(), whole.order(), problem.epilogue(), whole.accessC());
    var starts = problem.batch().starts();
    var sums = new Slot.Workspace(inputs.workspaceBytes());
    var steps = new ArrayList<>(inputs.steps());
    for (var start : starts) {
      var slots = ProductParameters.operands(problem, inputs.a(), inputs.b(), start, sums);
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
              sums,
              ProductParameters.c(problem, start),
              problem.m(),
              problem.n(),
              blocks,
              shares.count(),
              problem.alpha()));
    }
    candidates.offer(
        first.name() + shares.count() + inputs.suffix(),
        inputs.microseconds(machine) + starts.size() * microseconds.applyAsDouble(shares),
        "K in %d shares%s".formatted(shares.count(), inputs.explanation()),
        steps,
        inputs.workspaceBytes() + SplitVariant.workspaceBytes(tile, blocks * shares.count()));
  }

  /** The bytes that a launch reads from memory and writes to it. */
  private static double bytes(MatmulProblem problem) {
    return problem.cost().bytes() / Math.max(1, problem.batch().starts().size());
  }

  /**
   * The work of a block.
   *
   * @param stages of K that it computes
   * @param written dtype of what it writes
   */
  private static BlockWork work(
      MatmulProblem problem, TensorVariant variant, Machine machine, int stages, DType written) {
    var tile = variant.tile();
    var mma = variant.mma();
    double multiplyAdds = (double) tile.m() * tile.n() * tile.k();
    double products = multiplyAdds / (mma.m() * mma.n() * mma.k());
    boolean widened = variant.factors() == Factors.WIDENED;
    double instructions =
        products * (widened ? WIDENED_INSTRUCTIONS : Machine.MMA_INSTRUCTIONS)
            + tile.warps()
                * (copies(variant.stageA(), variant.a(), tile)
                    + copies(variant.stageB(), variant.b(), tile));
    double fragments =
        (double) tile.warps()
            * (tile.warpM() + tile.warpN())
            * tile.k()
            * variant.a().dtype().bytes();
    double busy =
        Math.max(
            machine.tensorCycles(multiplyAdds, mma.a()),
            Math.max(
                machine.issueCycles(instructions),
                machine.sharedCycles(
                    stored(variant.stageA(), variant.a(), tile)
                        + stored(variant.stageB(), variant.b(), tile)
                        + fragments)));
    double out = (double) tile.m() * tile.n() * written.bytes();
    // rows and columns that the matrices do not have are not read
    double stageRead =
        (double) tile.k()
            * (Math.min(tile.m(), problem.m()) * variant.a().dtype().bytes()
                + Math.min(tile.n(), problem.n()) * variant.b().dtype().bytes());
    boolean copied = access(variant) >= MatrixStaging.LEAST_COPY;
    return new BlockWork(
        tile.threads(),
        Math.min(Machine.MOST_REGISTERS, registers(variant, machine.gpu().target())),
        variant.sharedBytes(),
        stages * busy + machine.sharedCycles(out),
        stages * Machine.BARRIER_CYCLES,
        stages * stageRead + out,
        // copies fill the ring ahead, registers have one stage
        copied ? (tile.stages() - 1) * stageRead : stageRead);
  }

  /** The instructions of a warp that bring a stage of an operand. */
  private static double copies(Stage stage, Operand operand, TensorTile tile) {
    return MatrixStaging.pieces(stage, operand.access(), tile.threads())
        * (operand.access() < MatrixStaging.LEAST_COPY
            ? ELEMENT_INSTRUCTIONS
            : Machine.COPY_INSTRUCTIONS);
  }

  /**
   * The bytes of shared memory that could be written while a stage of an operand is brought: those
   * of the stage, or a whole wavefront for each load and store of elements of a warp.
   */
  private static double stored(Stage stage, Operand operand, TensorTile tile) {
    if (operand.access() >= MatrixStaging.LEAST_COPY) {
      return stage.bytes();
    }
    int pieces = MatrixStaging.pieces(stage, operand.access(), tile.threads());
    return 2 * Machine.WAVEFRONT * pieces * tile.warps();
  }

  private static long blocks(MatmulProblem problem, TensorTile tile) {
    return ProductParameters.blocks(problem, tile.m(), tile.n());
  }
}
