package dev.athanor.ops.linear.dense;

import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Activation;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.linear.Groups;
import dev.athanor.ops.linear.MatmulProblem;
import dev.athanor.ops.linear.ProductParameters;
import dev.athanor.ops.linear.ShareSumVariant;
import dev.athanor.ops.linear.dense.PersistentVariant.Work;
import dev.athanor.ops.tile.BlockScales;
import dev.athanor.ops.tile.Epilogue;
import dev.athanor.ops.tile.Factors;
import dev.athanor.ops.tile.Shares;
import dev.athanor.ops.tile.TensorTile.Instruction;
import dev.athanor.ops.tile.TilePlanner;
import dev.athanor.ops.tile.persistent.PersistentTile;
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

  static final List<PersistentTile> TILES =
      List.of(
          new PersistentTile(256, 192, 3, 2),
          new PersistentTile(128, 256, 4, 2),
          new PersistentTile(128, 256, 4, 1),
          new PersistentTile(128, 192, 4, 2),
          new PersistentTile(128, 192, 4, 1),
          new PersistentTile(128, 128, 6, 2),
          new PersistentTile(128, 128, 6, 1),
          new PersistentTile(128, 64, 8, 1),
          new PersistentTile(64, 256, 5, 1),
          new PersistentTile(64, 128, 8, 1));

  /** Bytes to which addresses and rows are aligned. */
  private static final int ALIGNMENT = 16;

  /** Elements of a warpgroup whose epilogue may need many registers beside the sums. */
  private static final int MOST_FINISHED = 64 * 256;

  /** Elements of a warpgroup whose sums are promoted, so that they need twice the registers. */
  private static final int MOST_PROMOTED = 64 * 192;

  /** Registers of a thread before roles divide them. */
  private static final int REGISTERS = 168;

  static void offer(
      MatmulProblem problem, Padding inputs, TilePlanner tiles, Candidates candidates) {
    var planner = new PersistentPlanner(problem, inputs, tiles, Machine.of(tiles.device()));
    if (!planner.suits()) {
      return;
    }
    for (var tile : TILES) {
      var whole = planner.whole(tile);
      if (candidates.runs(Target.SM_90A, whole.name())) {
        planner
            .refusal(whole)
            .ifPresentOrElse(
                reason -> candidates.refuse(whole.name() + inputs.suffix(), reason),
                () -> planner.offer(whole, candidates));
        var split = planner.split(tile);
        if (problem.groups().isEmpty() && planner.refusal(split).isEmpty()) {
          planner.shares(split).ifPresent(shares -> planner.offer(split, shares, candidates));
        }
      }
    }
  }

  /** Returns the only step if K is not split. */
  PersistentVariant whole(PersistentTile tile) {
    var work = problem.groups().isPresent() ? Work.OF_GROUPS : Work.WHOLE;
    return new PersistentVariant(tile, tiles.a(), tiles.b(), problem.epilogue(), work);
  }

  /** Returns the first of two split-K steps. */
  PersistentVariant split(PersistentTile tile) {
    var scale = problem.scaled() ? Epilogue.Scale.BLOCKS : Epilogue.Scale.NONE;
    var sums = problem.dtype() == DType.I8 ? DType.I32 : DType.F32;
    var epilogue = new Epilogue(scale, Optional.empty(), Activation.NONE, sums);
    return new PersistentVariant(tile, tiles.a(), tiles.b(), epilogue, Work.SHARES);
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

  private Optional<String> refusal(PersistentVariant variant) {
    var tile = variant.tile();
    long rowOfC = (long) problem.n() * variant.epilogue().out().bytes();
    int access = Math.min(tiles.a().access(), tiles.b().access());
    if (access < ALIGNMENT || rowOfC % ALIGNMENT != 0) {
      return Optional.of(
          "rows are aligned to %d bytes; the tensor memory accelerator requires %d"
              .formatted(Math.min(access, Long.lowestOneBit(rowOfC)), ALIGNMENT));
    }
    int ofGroup = tile.m() * tile.n() / tile.groups();
    boolean isLong = variant.epilogue().isLong() || problem.dtype() == DType.I8;
    if (isLong && ofGroup > MOST_FINISHED) {
      return Optional.of("too few registers to finish the sums");
    }
    if (promotes() && ofGroup > MOST_PROMOTED) {
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
    // for any number of rows, a kernel is offered that computes a row to the same bits
    boolean isLow = tile.m() == PersistentTile.ROWS && variant.work() != Work.SHARES;
    if ((!isLow && problem.m() <= tile.m() / 2 * tile.cluster()) || problem.n() <= tile.n() / 2) {
      return Optional.of("smaller tiles waste less of each block");
    }
    return Optional.empty();
  }

  /** Offers a launch that computes all of K. */
  private void offer(PersistentVariant variant, Candidates candidates) {
    var all = all(variant);
    candidates.offer(
        variant.name() + inputs.suffix(),
        order(),
        inputs.microseconds(machine) + problem.batch().starts().size() * product(variant, all),
        explanation(variant, all),
        withCopies(steps(variant, all)),
        inputs.workspaceBytes());
  }

  /** Offers a split-K launch and a launch that adds the partial sums. */
  private void offer(PersistentVariant variant, Shares shares, Candidates candidates) {
    var order = order();
    candidates.offer(
        variant.name() + shares.count() + inputs.suffix(),
        // integer sums are exact
        problem.dtype() == DType.I8
            ? order
            : "%s_persistent_split%d".formatted(order, shares.count()),
        inputs.microseconds(machine) + problem.batch().starts().size() * split(variant, shares),
        "split-K with %d parts, %s".formatted(shares.count(), explanation(variant, shares)),
        withCopies(steps(variant, shares)),
        inputs.workspaceBytes() + sumBytes(shares));
  }

  private String order() {
    return TensorVariant.order(
        problem.a(), problem.b(), Instruction.WGMMA, Factors.PLAIN, problem.epilogue());
  }

  private String explanation(PersistentVariant variant, Shares shares) {
    int blocks = variant.tile().cluster();
    return "%d persistent blocks for %s%d tiles%s"
        .formatted(
            launched(variant, shares) * blocks,
            problem.groups().isPresent() ? "about " : "",
            tilesOfClusters(variant, shares) * blocks,
            inputs.explanation());
  }

  private List<Step> withCopies(List<Step> launches) {
    return Stream.concat(inputs.steps().stream(), launches.stream()).toList();
  }

  /** Returns the launches, without those that pad inputs. */
  List<Step> steps(PersistentVariant variant, Shares shares) {
    return new PersistentLaunches(problem, inputs, variant, shares)
        .steps(launched(variant, shares));
  }

  /** Returns the whole of K. */
  Shares all(PersistentVariant variant) {
    return new Shares(1, Math.ceilDiv(problem.k(), variant.product().depth()));
  }

  /** Returns the cheapest division of K; empty if the tiles alone fill the device. */
  private Optional<Shares> shares(PersistentVariant variant) {
    var tile = variant.tile();
    var all = all(variant);
    long blocks = tilesOfClusters(variant, all) * tile.cluster();
    return ProductParameters.elements(problem) > Integer.MAX_VALUE
        ? Optional.empty()
        : Shares.cheapest(all.stages(), blocks, tiles.device(), shares -> split(variant, shares));
  }

  private long sumBytes(Shares shares) {
    return ProductParameters.elements(problem) * shares.count() * Float.BYTES;
  }

  /** Returns the tiles of clusters in all shares of K. Groups are assumed to have equal sizes. */
  private long tilesOfClusters(PersistentVariant variant, Shares shares) {
    return variant.product().scheduler().tiles(problem.m(), problem.n())
        * problem.batch().productsPerLaunch()
        * shares.count();
  }

  /** Returns the number of clusters that run at the same time. */
  private int resident(PersistentVariant variant) {
    return Math.max(1, tiles.device().multiprocessors() / variant.tile().cluster());
  }

  /** Returns the number of tiles that a cluster computes one after another. */
  private long rounds(PersistentVariant variant, Shares shares) {
    return Math.ceilDiv(tilesOfClusters(variant, shares), resident(variant));
  }

  /** Returns the fewest clusters that need no more rounds. */
  private long clusters(PersistentVariant variant, Shares shares) {
    return Math.ceilDiv(tilesOfClusters(variant, shares), rounds(variant, shares));
  }

  /** Returns the clusters of a launch. */
  private long launched(PersistentVariant variant, Shares shares) {
    return problem
        .groups()
        .map(groups -> mostClusters(variant, groups))
        .orElseGet(() -> clusters(variant, shares));
  }

  /** Returns the clusters that have a tile if the sizes of groups lead to the most tiles. */
  private long mostClusters(PersistentVariant variant, Groups groups) {
    var scheduler = variant.product().scheduler();
    long most = groups.tiles(scheduler.m()) * scheduler.tiles(1, problem.n());
    return Math.min(resident(variant), most);
  }

  /** Returns the time of a split-K launch and of the launch that adds the partial sums. */
  private double split(PersistentVariant variant, Shares shares) {
    double results = (double) ProductParameters.elements(problem) * problem.outDType().bytes();
    return product(variant, shares)
        + machine.dependentSum(
            (double) sumBytes(shares), results, ShareSumVariant.rounds(shares.count()));
  }

  /** Returns the time of the launch that multiplies. */
  private double product(PersistentVariant variant, Shares shares) {
    double bytes = problem.cost().bytes() / Math.max(1, problem.batch().starts().size());
    long grid = clusters(variant, shares) * variant.tile().cluster();
    return machine.microseconds(grid, work(variant, shares), bytes);
  }

  private BlockWork work(PersistentVariant variant, Shares shares) {
    var tile = variant.tile();
    var product = variant.product();
    int depth = product.depth();
    long rounds = rounds(variant, shares);
    long stages = rounds * shares.stages();
    double area = (double) tile.m() * tile.n();
    double multiplied = machine.peakTensorCycles(area * depth, product.mma().a());
    double stored = area * variant.epilogue().out().bytes();
    double moved = machine.sharedCycles(tile.movedBytes());
    return new BlockWork(
        tile.threads(),
        REGISTERS,
        tile.sharedBytes(),
        stages * Math.max(multiplied, moved) + rounds * machine.sharedCycles(2 * stored),
        machine.latency(),
        stages * tile.copiedBytes() + rounds * stored,
        (tile.stages() - 1) * tile.copiedBytes());
  }
}
