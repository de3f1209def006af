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

  /**
   * Instructions of a thread per run of the patch matrix, besides those of a run of a matrix: its
   * address and its bit. Source: machine code, as for those per stage.
   */
  private static final double RUN_INSTRUCTIONS = 4;

  /** Maximum taps of a window on tensor cores: with more, no table of them fits shared memory. */
  private static final int MOST_TAPS = 2048;

  /** Instructions of a thread per stage that is not inside a tap, to find its tap. */
  private static final double STAGE_INSTRUCTIONS = 25;

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
    if (!Instruction.multiplies(problem.dtype(), device)) {
      candidates.refuse(
          "tensor cores",
          "%s uses CUDA cores on %s".formatted(problem.dtype().text(), device.target()));
      return;
    }
    if (problem.taps() > MOST_TAPS || problem.reach() > Integer.MAX_VALUE) {
      candidates.refuse(
          "tensor cores",
          "a window has %d taps, up to %.0f elements of x apart; tensor cores take %d taps and 2^31 - 1 elements"
              .formatted(problem.taps(), problem.reach(), MOST_TAPS));
      return;
    }
    implicit(DenseLayout.of(problem, inputs, device));
    DenseLayout.padded(problem, inputs, device).ifPresent(this::implicit);
  }

  private void implicit(DenseLayout layout) {
    var dense = layout.problem();
    var tiles =
        new TilePlanner(
            pixels(),
            dense.filters(),
            dense.depth(),
            dense.groups(),
            Operand.of(dense.dtype(), false, dense.channels()),
            Operand.of(dense.dtype(), true, dense.depth()),
            device);
    var implicit = new Implicit(tiles, layout);
    for (var product :
        tiles.tiles(candidates, each -> implicit.variant(each).name() + layout.suffix())) {
      whole(implicit, product);
      if (dense.groups() == 1) {
        split(implicit, product);
      }
    }
  }

  /** Returns the pixels of all images of y. */
  private int pixels() {
    return Math.toIntExact(problem.images() * problem.pixelsOut());
  }

  /** The products on tensor cores of tensors with a layout. */
  private record Implicit(TilePlanner tiles, DenseLayout layout) {

    ImplicitVariant variant(TileProduct product) {
      var problem = layout.problem();
      return new ImplicitVariant(
          product.tile(),
          tiles.a(),
          tiles.b(),
          problem.windows().size(),
          problem.channels() % product.tile().k() == 0,
          Optional.of(problem.epilogue()),
          Operand.access(problem.filters(), problem.dtype()));
    }

    /**
     * Returns the work of a block: that of a dense product, and the search for taps.
     *
     * @param stages number of stages that it multiplies
     * @param out the dtype that it stores
     */
    BlockWork work(TileProduct product, int stages, DType out) {
      var dense = tiles.work(product, stages, out);
      var variant = variant(product);
      if (variant.wholeTaps()) {
        return dense;
      }
      double searching = variant.runs() * RUN_INSTRUCTIONS + STAGE_INSTRUCTIONS;
      double busy =
          stages * Machine.of(tiles.device()).issueCycles(product.tile().warps() * searching);
      return new BlockWork(
          dense.threads(),
          dense.registers(),
          dense.sharedBytes(),
          dense.busy() + busy,
          dense.stalls(),
          dense.bytes(),
          dense.bytesInFlight());
    }

    Arguments arguments(Slot y) {
      var problem = layout.problem();
      return Arguments.NONE
          .with("x", layout.x())
          .with("weight", layout.weight())
          .with("y", y)
          .with("pixels", tiles.m())
          .with("filters", problem.filters())
          .with("depth", problem.depth())
          .with("channels", problem.channels())
          .with("xPixel", problem.groups() * problem.channels())
          .with("yPixel", problem.groups() * problem.filters())
          .with("xImage", (long) problem.groups() * problem.channels() * problem.pixelsIn())
          .with(WindowParameters.arguments(problem.windows()));
    }
  }

  /** Offers a kernel in which a block computes all of K for its tile. */
  private void whole(Implicit implicit, TileProduct product) {
    var tiles = implicit.tiles;
    var layout = implicit.layout;
    var variant = implicit.variant(product);
    long blocks = tiles.blocks(product.tile());
    var work = implicit.work(product, tiles.stages(product.tile()), problem.dtype());
    var arguments = implicit.arguments(layout.y()).with(problem.epilogue().arguments(1));
    var steps = new ArrayList<>(layout.before());
    steps.add(step(variant, Dim3.of((int) blocks), arguments));
    steps.addAll(layout.after());
    candidates.offer(
        variant.name() + layout.suffix(),
        variant.order(problem.epilogue()) + layout.padding(),
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
  private void split(Implicit implicit, TileProduct product) {
    var tiles = implicit.tiles;
    var layout = implicit.layout;
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    ToDoubleFunction<Shares> microseconds = shares -> microseconds(implicit, product, shares);
    var found = Shares.cheapest(tiles.stages(tile), blocks, device, microseconds);
    if (found.isEmpty()) {
      return;
    }
    var shares = found.get();
    var whole = implicit.variant(product);
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
            implicit.arguments(sums).with("share", shares.stages() * tile.k())));
    steps.add(second.step(sums, layout.y(), tiles.m(), tiles.n(), blocks, shares.count(), 1));
    steps.addAll(layout.after());
    var name = first.name() + shares.count() + layout.suffix();
    candidates.offer(
        name,
        layout.microseconds(machine) + microseconds.applyAsDouble(shares),
        "split-K with %d parts".formatted(shares.count()),
        steps,
        layout.workspaceBytes() + SplitVariant.workspaceBytes(tile, blocks * shares.count()));
  }

  private double microseconds(Implicit implicit, TileProduct product, Shares shares) {
    var tiles = implicit.tiles;
    var tile = product.tile();
    long blocks = tiles.blocks(tile);
    var work = implicit.work(product, shares.stages(), DType.F32);
    return machine.microseconds(blocks * shares.count(), work, bytes)
        + machine.dependentSum(
            (double) SplitVariant.workspaceBytes(tile, blocks * shares.count()),
            (double) blocks * tile.m() * tile.n() * problem.dtype().bytes(),
            SplitVariant.rounds(shares.count()));
  }
}
