package dev.athanor.ops.convolution;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Operand;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.SplitVariant;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.TileProduct;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;

/** Chooses the kernel of a convolution: one thread per element, or a product on tensor cores. */
final class ConvolutionPlanner {

  /** Instructions of a thread per product: two loads, their addresses, and the product. */
  private static final double PRODUCT_INSTRUCTIONS = 5;

  /** Instructions of a thread per tap: its positions and their limits. */
  private static final double TAP_INSTRUCTIONS = 20;

  private static final int REGISTERS = 64;

  private final ConvolutionProblem problem;
  private final Map<String, TensorType> inputs;
  private final Capability device;
  private final Machine machine;
  private final Candidates candidates;
  private final double bytes;

  private ConvolutionPlanner(
      ConvolutionProblem problem, Map<String, TensorType> inputs, Capability device) {
    this.problem = problem;
    this.inputs = inputs;
    this.device = device;
    machine = Machine.of(device);
    candidates = new Candidates("convolution of " + problem.dtype().text(), device);
    bytes = problem.cost(inputs).bytes();
  }

  /** Returns the plans that the device can run, the cheapest first. */
  static List<LaunchPlan> plans(
      ConvolutionProblem problem, Map<String, TensorType> inputs, Capability device) {
    var planner = new ConvolutionPlanner(problem, inputs, device);
    planner.direct();
    planner.implicit();
    return planner.candidates.plans(Map.of("y", problem.output()), problem.cost(inputs));
  }

  /** Offers the kernel in which a thread computes an element. */
  private void direct() {
    var layout = problem.layout();
    var function = new ConvolutionFunction(problem.epilogue(), problem.transposed());
    var variant = new WindowVariant(function, problem.windows().size());
    var step = variant.step(layout, ConvolutionFunction.arguments(problem, layout.channelStride()));
    double warps = WindowVariant.THREADS / (double) KernelBuilder.WARP;
    double products = problem.depth();
    double read = WindowVariant.THREADS * products * problem.dtype().bytes();
    var work =
        new BlockWork(
            WindowVariant.THREADS,
            REGISTERS,
            0,
            Math.max(
                machine.issueCycles(
                    warps * (PRODUCT_INSTRUCTIONS * products + TAP_INSTRUCTIONS * problem.taps())),
                machine.laneCycles(
                    WindowVariant.THREADS * products, Epilogue.type(problem.dtype()))),
            products * Machine.BARRIER_CYCLES,
            read,
            2.0 * WindowVariant.THREADS * problem.dtype().bytes());
    long blocks = step.grid().count();
    candidates.offer(
        variant.name(),
        machine.microseconds(blocks, work, bytes),
        "%d blocks, one thread per element".formatted(blocks),
        List.of(step),
        0);
  }

  /** Offers the products on tensor cores. */
  private void implicit() {
    if (problem.transposed()) {
      candidates.refuse("tensor cores", "transposed convolution uses CUDA cores");
      return;
    }
    if (!problem.onTensorCores()) {
      candidates.refuse("tensor cores", problem.dtype().text() + " uses CUDA cores");
      return;
    }
    if (Instruction.ofWarp(problem.dtype(), device) == Instruction.MMA
        && !Instruction.isNative(problem.dtype(), device)) {
      candidates.refuse(
          "tensor cores",
          "%s uses CUDA cores on %s".formatted(problem.dtype().text(), device.target()));
      return;
    }
    var layout = DenseLayout.of(problem, inputs, device);
    var tiles =
        new TilePlanner(
            Math.toIntExact(problem.images() * problem.pixelsOut()),
            problem.filters(),
            problem.depth(),
            problem.groups(),
            Operand.of(problem.dtype(), false, problem.channels()),
            Operand.of(problem.dtype(), true, problem.depth()),
            device);
    var suffix = layout.before().isEmpty() ? "" : "_transposed";
    for (var product : tiles.tiles(candidates, each -> variant(tiles, each).name() + suffix)) {
      whole(tiles, product, layout, suffix);
      if (problem.groups() == 1) {
        split(tiles, product, layout, suffix);
      }
    }
  }

  private ImplicitVariant variant(TilePlanner tiles, TileProduct product) {
    return new ImplicitVariant(
        product.tile(),
        tiles.a(),
        tiles.b(),
        problem.windows().size(),
        problem.channels() % product.tile().k() == 0,
        Optional.of(problem.epilogue()),
        Operand.access(problem.filters(), problem.dtype()));
  }

  private Arguments arguments(DenseLayout layout, Slot y) {
    return Arguments.NONE
        .with("x", layout.x())
        .with("weight", layout.weight())
        .with("y", y)
        .with("pixels", Math.toIntExact(problem.images() * problem.pixelsOut()))
        .with("filters", problem.filters())
        .with("depth", problem.depth())
        .with("channels", problem.channels())
        .with("xPixel", problem.groups() * problem.channels())
        .with("yPixel", problem.groups() * problem.filters())
        .with("xImage", (long) problem.groups() * problem.channels() * problem.pixelsIn())
        .with(WindowParameters.arguments(problem.windows()));
  }

  /** Offers a kernel in which a block computes all of K for its tile. */
  private void whole(TilePlanner tiles, TileProduct product, DenseLayout layout, String suffix) {
    var variant = variant(tiles, product);
    long blocks = tiles.blocks(product.tile());
    var work = tiles.work(product, tiles.stages(product.tile()), problem.dtype());
    var arguments = arguments(layout, layout.y()).with(problem.epilogue().arguments(1));
    var steps = new ArrayList<>(layout.before());
    steps.add(step(variant, Dim3.of((int) blocks), arguments));
    steps.addAll(layout.after());
    candidates.offer(
        variant.name() + suffix,
        variant.order(problem.epilogue()),
        layout.microseconds(machine) + machine.microseconds(blocks, work, bytes),
        "%d blocks, %d per multiprocessor".formatted(blocks, machine.resident(work)),
        steps,
        layout.workspaceBytes());
  }

  private Step step(ImplicitVariant variant, Dim3 grid, Arguments arguments) {
    return new Step(
        variant, grid, variant.tile().threads(), variant.sharedBytes(problem.taps()), arguments);
  }

  /** Offers a split-K kernel, whose partial sums a second launch adds. */
  private void split(TilePlanner tiles, TileProduct product, DenseLayout layout, String suffix) {
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    ToDoubleFunction<Shares> microseconds = shares -> microseconds(tiles, product, shares);
    var found = Shares.cheapest(tiles.stages(tile), blocks, device, microseconds);
    if (found.isEmpty()) {
      return;
    }
    var shares = found.get();
    var whole = variant(tiles, product);
    var first =
        new ImplicitVariant(
            tile,
            whole.x(),
            whole.weight(),
            whole.rank(),
            whole.wholeTaps(),
            Optional.empty(),
            whole.accessC());
    var second =
        new SplitVariant(
            tile, product.mma().sum(), product.interleaving(), problem.epilogue(), whole.accessC());
    var sums = new Slot.Workspace(layout.workspaceBytes());
    var steps = new ArrayList<>(layout.before());
    steps.add(
        step(
            first,
            new Dim3((int) blocks, shares.count(), 1),
            arguments(layout, sums).with("share", shares.stages() * tile.k())));
    steps.add(second.step(sums, layout.y(), tiles.m(), tiles.n(), blocks, shares.count(), 1));
    steps.addAll(layout.after());
    var name = first.name() + shares.count() + suffix;
    candidates.offer(
        name,
        layout.microseconds(machine) + microseconds.applyAsDouble(shares),
        "split-K with %d parts".formatted(shares.count()),
        steps,
        layout.workspaceBytes() + SplitVariant.workspaceBytes(tile, blocks * shares.count()));
  }

  private double microseconds(TilePlanner tiles, TileProduct product, Shares shares) {
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    var work = tiles.work(product, shares.stages(), DType.F32);
    return machine.microseconds(blocks * shares.count(), work, bytes)
        + machine.sum(
            (double) SplitVariant.workspaceBytes(tile, blocks * shares.count()),
            (double) blocks * tile.m() * tile.n() * problem.dtype().bytes(),
            SplitVariant.rounds(shares.count()));
  }
}
