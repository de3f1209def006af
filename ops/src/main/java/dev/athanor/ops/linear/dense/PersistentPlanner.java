package dev.athanor.ops.linear.dense;

import dev.athanor.engine.author.SharedTile;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.Batch;
import dev.athanor.ops.linear.Groups;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.TileScheduler;
import dev.athanor.ops.tile.persistent.PersistentProduct;
import dev.athanor.ops.tile.persistent.PersistentProduct.Repetition;
import dev.athanor.ops.tile.persistent.PersistentTile;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Offers products whose blocks are persistent and copy with the tensor memory accelerator (sm_90a).
 *
 * @param inputs the factors themselves, or copies with aligned rows
 */
record PersistentPlanner(
    MatmulProblem problem, Padding inputs, TilePlanner tiles, Machine machine) {

  private static final List<PersistentTile> TILES =
      List.of(
          new PersistentTile(256, 192, 3, 2),
          new PersistentTile(128, 256, 4, 2),
          new PersistentTile(128, 256, 4, 1),
          new PersistentTile(128, 192, 4, 2),
          new PersistentTile(128, 192, 4, 1),
          new PersistentTile(128, 128, 6, 2),
          new PersistentTile(128, 128, 6, 1),
          new PersistentTile(128, 64, 8, 1));

  /** Tiles for groups of few rows, besides the others. */
  private static final List<PersistentTile> TILES_OF_FEW_ROWS =
      List.of(new PersistentTile(64, 256, 5, 1), new PersistentTile(64, 128, 8, 1));

  /** Bytes to which addresses and rows are aligned. */
  private static final int ALIGNMENT = 16;

  /** Elements of a tile whose epilogue may need many registers beside the sums. */
  private static final int MOST_FINISHED = 128 * 256;

  /** Elements of a tile whose sums are promoted, so that they need twice the registers. */
  private static final int MOST_PROMOTED = 128 * 192;

  /** Registers of a thread before roles divide them. */
  private static final int REGISTERS = 168;

  static void offer(
      MatmulProblem problem, Padding inputs, TilePlanner tiles, Candidates candidates) {
    var planner = new PersistentPlanner(problem, inputs, tiles, Machine.of(tiles.device()));
    for (var tile : planner.tilesOfBlocks()) {
      var variant = planner.variant(tile);
      if (planner.suits() && candidates.runs(Target.SM_90A, variant.name())) {
        planner
            .refusal(tile)
            .ifPresentOrElse(
                reason -> candidates.refuse(variant.name() + inputs.suffix(), reason),
                () -> planner.offer(variant, candidates));
      }
    }
  }

  private List<PersistentTile> tilesOfBlocks() {
    return problem.groups().isEmpty()
        ? TILES
        : Stream.concat(TILES.stream(), TILES_OF_FEW_ROWS.stream()).toList();
  }

  PersistentVariant variant(PersistentTile tile) {
    return new PersistentVariant(
        tile, tiles.a(), tiles.b(), problem.epilogue(), problem.groups().isPresent());
  }

  /** Returns whether there are kernels for these dtypes. */
  private boolean suits() {
    var dtype = problem.dtype();
    boolean depthIsInner = !tiles.a().transposed() && tiles.b().transposed();
    return dtype == DType.F16 || dtype == DType.BF16 || (dtype.bytes() == 1 && depthIsInner);
  }

  private boolean promotes() {
    return problem.dtype() == DType.E4M3 || problem.dtype() == DType.E5M2;
  }

  private Optional<String> refusal(PersistentTile tile) {
    long rowOfC = (long) problem.n() * problem.outDType().bytes();
    int access = Math.min(tiles.a().access(), tiles.b().access());
    if (access < ALIGNMENT || rowOfC % ALIGNMENT != 0) {
      return Optional.of(
          "rows are aligned to %d bytes; the tensor memory accelerator requires %d"
              .formatted(Math.min(access, Long.lowestOneBit(rowOfC)), ALIGNMENT));
    }
    boolean isLong = problem.epilogue().isLong() || problem.dtype() == DType.I8;
    if (isLong && tile.m() * tile.n() > MOST_FINISHED) {
      return Optional.of("too few registers to finish the sums");
    }
    if (promotes() && tile.m() * tile.n() > MOST_PROMOTED) {
      return Optional.of("too few registers to promote sums");
    }
    if (problem.scaled() && BlockScales.SIZE % tile.n() != 0) {
      return Optional.of("tiles are not within blocks of %d columns".formatted(BlockScales.SIZE));
    }
    int panels = tile.n() / PersistentTile.PANEL;
    if (!tiles.b().transposed() && panels % tile.cluster() != 0) {
      return Optional.of(
          "%d blocks of a cluster cannot share %d panels of b".formatted(tile.cluster(), panels));
    }
    boolean isOfFewRows = TILES_OF_FEW_ROWS.contains(tile);
    if ((!isOfFewRows && problem.m() <= tile.m() / 2 * tile.cluster())
        || problem.n() <= tile.n() / 2) {
      return Optional.of("smaller tiles waste less of each block");
    }
    return Optional.empty();
  }

  private void offer(PersistentVariant variant, Candidates candidates) {
    var tile = variant.tile();
    var launches = steps(variant);
    var steps = new ArrayList<>(inputs.steps());
    steps.addAll(launches);
    long expected = fewestClusters(tile) * tile.cluster();
    double bytes = problem.cost().bytes() / Math.max(1, launches.size());
    candidates.offer(
        variant.name() + inputs.suffix(),
        TensorVariant.order(
            problem.a(), problem.b(), Instruction.WGMMA, Factors.PLAIN, problem.epilogue()),
        inputs.microseconds(machine)
            + launches.size() * machine.microseconds(expected, work(variant), bytes),
        "%d persistent blocks for %s%d tiles%s"
            .formatted(
                launches.getFirst().grid().x(),
                problem.groups().isPresent() ? "about " : "",
                tilesOfClusters(tile) * tile.cluster(),
                inputs.explanation()),
        steps,
        inputs.workspaceBytes());
  }

  /** Returns the launches, without those that pad inputs. */
  List<Step> steps(PersistentVariant variant) {
    var tile = variant.tile();
    long clusters =
        problem.groups().map(groups -> mostClusters(tile, groups)).orElse(fewestClusters(tile));
    var grid = Dim3.of(Math.toIntExact(clusters * tile.cluster()));
    return problem.batch().starts().stream()
        .map(start ->
            new Step(variant, grid, tile.threads(), tile.sharedBytes(), arguments(variant, start)))
        .toList();
  }

  /** Returns the number of tiles. Groups are estimated to have as many rows each. */
  private long tilesOfClusters(PersistentTile tile) {
    return scheduler(tile).tiles(problem.m(), problem.n()) * problem.batch().productsPerLaunch();
  }

  private TileScheduler scheduler(PersistentTile tile) {
    return variant(tile).product().scheduler();
  }

  /** Returns the number of clusters that run at the same time. */
  private int resident(PersistentTile tile) {
    return Math.max(1, tiles.device().multiprocessors() / tile.cluster());
  }

  /** Returns the number of tiles that a cluster computes one after another. */
  private long rounds(PersistentTile tile) {
    return Math.ceilDiv(tilesOfClusters(tile), resident(tile));
  }

  /** Returns the fewest clusters that need no more rounds. */
  private long fewestClusters(PersistentTile tile) {
    return Math.ceilDiv(tilesOfClusters(tile), rounds(tile));
  }

  /** Returns the clusters that have a tile if the sizes of groups lead to the most tiles. */
  private long mostClusters(PersistentTile tile, Groups groups) {
    var scheduler = scheduler(tile);
    long most = groups.tiles(scheduler.m()) * scheduler.tiles(1, problem.n());
    return Math.min(resident(tile), most);
  }

  private BlockWork work(PersistentVariant variant) {
    var tile = variant.tile();
    var product = variant.product();
    int depth = product.depth();
    long rounds = rounds(tile);
    long stages = rounds * Math.ceilDiv(problem.k(), depth);
    double area = (double) tile.m() * tile.n();
    double multiplied = machine.peakTensorCycles(area * depth, product.mma().a());
    // of b, a block of a cluster copies a share
    double rows = tile.m() + (double) tile.n() / tile.cluster();
    double stored = area * problem.outDType().bytes();
    // a stage is written once; each 64 rows read all columns
    double copied = 2.0 * tile.m() + tile.n() * (1 + tile.m() / 64.0);
    double moved = machine.sharedCycles(copied * SharedTile.ASYNC_ROW);
    return new BlockWork(
        tile.threads(),
        REGISTERS,
        tile.sharedBytes(),
        stages * Math.max(multiplied, moved) + rounds * machine.sharedCycles(2 * stored),
        machine.latency(),
        stages * rows * SharedTile.ASYNC_ROW + rounds * stored,
        (tile.stages() - 1) * rows * SharedTile.ASYNC_ROW);
  }

  private Arguments arguments(PersistentVariant variant, Batch.Start start) {
    return problem
        .groups()
        .map(groups -> arguments(variant, groups))
        .orElseGet(() -> {
          var inner = problem.batch().inner();
          var outer = problem.batch().outer();
          return arguments(variant, start, problem.m(), inner, outer);
        })
        .with(problem.scales())
        .with(problem.epilogue().arguments(problem.alpha()));
  }

  /** Returns the arguments of groups: a batch of all their matrices b, whose a and c are one. */
  private Arguments arguments(PersistentVariant variant, Groups groups) {
    var start = new Batch.Start(0, 0, 0);
    var ofGroups = new Batch.Loop(groups.count(), 0, 1);
    return arguments(variant, start, groups.rows(), ofGroups, new Batch.Loop(1, 0, 0))
        .with(groups.sizes())
        .with("rows", ProductParameters.c(problem, start));
  }

  private Arguments arguments(
      PersistentVariant variant, Batch.Start start, int m, Batch.Loop inner, Batch.Loop outer) {
    var product = variant.product();
    long products = inner.count() * outer.count();
    var a = inputs.a();
    var b = inputs.b();
    var tensorA =
        product.tensorA(
            a.leadingDimension(),
            m,
            problem.k(),
            List.of(
                new Repetition(inner.count(), inner.strideA() * a.matrix()),
                new Repetition(outer.count(), outer.strideA() * a.matrix())));
    var tensorB =
        product.tensorB(
            b.leadingDimension(),
            problem.n(),
            problem.k(),
            List.of(
                new Repetition(inner.count(), inner.strideB() * b.matrix()),
                new Repetition(outer.count(), outer.strideB() * b.matrix())));
    var tensorC =
        PersistentProduct.tensorC(
            problem.outDType(), m, problem.n(), problem.groups().isPresent() ? 1 : products);
    return Arguments.NONE
        .with("a", new Slot.Tensor(a.slot(start.a()), tensorA))
        .with("b", new Slot.Tensor(b.slot(start.b()), tensorB))
        .with("c", new Slot.Tensor(ProductParameters.c(problem, start), tensorC))
        .with("m", m)
        .with("n", problem.n())
        .with("k", problem.k())
        .with("products", Math.toIntExact(products))
        .with("inner", Math.toIntExact(inner.count()))
        .with("innerA", step(inner.strideA()))
        .with("innerB", step(inner.strideB()))
        .with("outerA", step(outer.strideA()))
        .with("outerB", step(outer.strideB()));
  }

  /** Returns the step of the index of a matrix that is repeated if its stride is 0. */
  private static int step(long stride) {
    return stride == 0 ? 0 : 1;
  }
}
