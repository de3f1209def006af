package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Type;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.linear.simt.SimtPlanner;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.TileProduct;
import java.util.ArrayList;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/**
 * Offers the tensor-core kernels, which use {@code mma.sync}.
 *
 * @param inputs the factors themselves, or copies with aligned rows
 */
record TensorPlanner(
    MatmulProblem problem,
    Padding inputs,
    TilePlanner tiles,
    Machine machine,
    Candidates candidates) {

  /** Registers of a thread for the ends of the rows of its group and the operands of the group. */
  private static final int GROUP_REGISTERS = 10;

  /** The depth of a step of fp8. */
  private static final int FP8_STEP = 32;

  /** Registers of a thread for the addresses of scales of blocks. */
  private static final int SCALE_REGISTERS = 16;

  /** Offers the kernels that the device can run and rejects the others with a reason. */
  static void offer(MatmulProblem problem, Capability capability, Candidates candidates) {
    if (!problem.onTensorCores()) {
      candidates.refuse("tensor cores", problem.dtype().text() + " uses CUDA cores");
      return;
    }
    if (!SimtPlanner.usesTensorCores(problem, capability)) {
      candidates.refuse(
          "tensor cores",
          "%s uses CUDA cores on %s".formatted(problem.dtype().text(), capability.target()));
      return;
    }
    of(problem, Padding.none(problem), capability, candidates).offer();
    if (problem.groups().isPresent()) {
      return; // copies of all right matrices cost more than aligned rows gain
    }
    Padding.of(problem, capability)
        .ifPresent(padded -> of(problem, padded, capability, candidates).offer());
    if (problem.dtype().bytes() == 1) {
      Padding.alongDepth(problem, capability)
          .map(copies -> of(problem, copies, capability, candidates))
          .ifPresent(TensorPlanner::offerPersistent);
    }
  }

  private static TensorPlanner of(
      MatmulProblem problem, Padding inputs, Capability capability, Candidates candidates) {
    var tiles =
        new TilePlanner(
            problem.m(),
            problem.n(),
            problem.k(),
            problem.batch().productsPerLaunch(),
            inputs.a().operand(),
            inputs.b().operand(),
            capability);
    return new TensorPlanner(problem, inputs, tiles, Machine.of(capability), candidates);
  }

  private void offerPersistent() {
    PersistentPlanner.offer(problem, inputs, tiles, candidates);
  }

  private void offer() {
    offerPersistent();
    for (var product : tiles.tiles(candidates, each -> variant(each).name())) {
      int more = moreRegisters(product);
      if (more > 0 && tiles.registers(product) + more > Machine.MOST_REGISTERS) {
        candidates.refuse(
            variant(product).name(),
            "too few registers to "
                + (problem.scaled() ? "scale blocks" : "locate groups of rows"));
        continue;
      }
      whole(product);
      if (problem.groups().isEmpty()) {
        split(product);
      }
    }
  }

  /** Returns the registers of a thread besides those of a plain product. */
  private int moreRegisters(TileProduct product) {
    if (problem.groups().isPresent()) {
      return GROUP_REGISTERS;
    }
    var tile = product.tile();
    int parts = tile.warpM() * tile.warpN() / KernelBuilder.WARP;
    // ptxas promotes, or decodes, all steps of a stage before it scales the first
    boolean steps = product.mma().hasReducedAccumulatorPrecision() || !tiles.convertsFp8();
    int waiting = steps ? tile.k() / FP8_STEP : 1;
    return problem.scaled() ? parts * waiting + tile.warpM() / 8 + SCALE_REGISTERS : 0;
  }

  private TensorVariant variant(TileProduct product) {
    return new TensorVariant(
        product.tile(),
        tiles.a(),
        tiles.b(),
        product.factors(),
        Optional.of(problem.epilogue()),
        Operand.access(problem.n(), problem.outDType()),
        problem.groups().isPresent(),
        problem.scaled());
  }

  /** Offers kernels in which a block computes all of K for its tile. */
  private void whole(TileProduct product) {
    var variant = variant(product);
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    var starts = problem.batch().starts();
    var work = tiles.work(product, tiles.stages(tile), problem.outDType());
    var steps = new ArrayList<>(inputs.steps());
    for (var start : starts) {
      var arguments =
          ProductParameters.operands(
                  problem, inputs.a(), inputs.b(), start, ProductParameters.c(problem, start))
              .with(problem.scales())
              .with(problem.epilogue().arguments(problem.alpha()));
      long grid = ProductParameters.blocks(problem, tile.m(), tile.n());
      steps.add(
          new Step(
              variant,
              Dim3.of(Math.toIntExact(grid)),
              tile.threads(),
              product.sharedBytes(problem.outDType()),
              arguments));
    }
    candidates.offer(
        variant.name() + inputs.suffix(),
        variant.order(problem.epilogue()),
        inputs.microseconds(machine) + starts.size() * machine.microseconds(blocks, work, bytes()),
        "%d blocks, %d per multiprocessor%s"
            .formatted(blocks, machine.resident(work), inputs.explanation()),
        steps,
        inputs.workspaceBytes());
  }

  /** Offers split-K kernels, whose partial sums a second launch adds. */
  private void split(TileProduct product) {
    var whole = variant(product);
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    ToDoubleFunction<Shares> microseconds = shares -> microseconds(product, shares);
    var found = Shares.cheapest(tiles.stages(tile), blocks, tiles.device(), microseconds);
    if (found.isEmpty()) {
      return;
    }
    var shares = found.get();
    var first =
        new TensorVariant(
            tile,
            whole.a(),
            whole.b(),
            whole.factors(),
            Optional.empty(),
            whole.accessC(),
            false,
            problem.scaled());
    var second =
        new SplitVariant(
            tile, product.mma().sum(), product.interleaving(), problem.epilogue(), whole.accessC());
    var starts = problem.batch().starts();
    var sums = new Slot.Workspace(inputs.workspaceBytes());
    var steps = new ArrayList<>(inputs.steps());
    for (var start : starts) {
      steps.add(
          new Step(
              first,
              new Dim3((int) blocks, shares.count(), 1),
              tile.threads(),
              product.sharedBytes(),
              ProductParameters.operands(problem, inputs.a(), inputs.b(), start, sums)
                  .with(problem.scales())
                  .with("depth", shares.stages() * tile.k())));
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
    var name = first.name() + shares.count() + inputs.suffix();
    candidates.offer(
        name,
        product.mma().sum() == Type.S32 ? whole.order(problem.epilogue()) : name,
        inputs.microseconds(machine) + starts.size() * microseconds.applyAsDouble(shares),
        "split-K with %d parts%s".formatted(shares.count(), inputs.explanation()),
        steps,
        inputs.workspaceBytes() + SplitVariant.workspaceBytes(tile, blocks * shares.count()));
  }

  /** Returns the time of a split-K launch and of the launch that adds the partial sums. */
  private double microseconds(TileProduct product, Shares shares) {
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    var work = tiles.work(product, shares.stages(), DType.F32);
    return machine.microseconds(blocks * shares.count(), work, bytes())
        + machine.dependentSum(
            (double) SplitVariant.workspaceBytes(tile, blocks * shares.count()),
            (double) blocks * tile.m() * tile.n() * problem.outDType().bytes(),
            SplitVariant.rounds(shares.count()));
  }

  /** Returns the bytes that a launch transfers from and to memory. */
  private double bytes() {
    return problem.cost().bytes() / Math.max(1, problem.batch().starts().size());
  }
}
