package dev.athanor.ops.attention;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Chooses the tiles of attention and the number of key splits. */
public final class FlashPlanner {

  /** The maximum head size for which the sums of 16 rows fit the registers of a warp. */
  private static final int MAX_NARROW = 256;

  /** The minimum and maximum number of blocks per multiprocessor with splits. */
  private static final int MIN_FILLINGS = 2;

  private static final int MAX_FILLINGS = 4;

  private FlashPlanner() {}

  /** Returns the candidate tiles, in descending order of rows. */
  private static List<Tile> tiles(Tile.Unit unit, FlashTask task) {
    int columns = Math.max(task.d(), task.dv());
    return columns <= MAX_NARROW
        ? tiles(unit, columns, task.mask().isPresent())
        : tilesOfWide(unit, task.dv() > MAX_NARROW ? 2 : 1);
  }

  /**
   * Returns the tiles of wide heads. More columns would spill registers; at least the last tile
   * fits the 99 KiB of shared memory of the smaller GPUs.
   */
  private static List<Tile> tilesOfWide(Tile.Unit unit, int across) {
    return switch (unit) {
      case TENSOR ->
          List.of(
              new Tile(unit, 64, 16, 16, across),
              new Tile(unit, 32, 16, 16, across),
              new Tile(unit, 16, 16, 16, across));
      case FMA ->
          List.of(new Tile(unit, 32, 16, 4), new Tile(unit, 16, 16, 4), new Tile(unit, 8, 16, 2));
    };
  }

  private static List<Tile> tiles(Tile.Unit unit, int columns, boolean masked) {
    return switch (unit) {
      case TENSOR -> {
        int across = columns <= 128 ? 64 : 32;
        yield List.of(
            // registers do not suffice for the elements of a mask beside 32 rows of a warp
            new Tile(unit, 128, across, columns <= 64 && !masked ? 32 : 16),
            new Tile(unit, 64, across, 16),
            new Tile(unit, 16, across, 16));
      }
      case FMA ->
          columns <= 64
              ? List.of(
                  new Tile(unit, 64, 64, 8), new Tile(unit, 32, 32, 8), new Tile(unit, 8, 64, 2))
              : columns <= 128
                  ? List.of(
                      new Tile(unit, 64, 32, 8),
                      new Tile(unit, 32, 32, 8),
                      new Tile(unit, 8, 32, 2))
                  : List.of(
                      new Tile(unit, 32, 16, 8),
                      new Tile(unit, 16, 16, 4),
                      new Tile(unit, 8, 16, 2));
    };
  }

  /**
   * Returns the plans of a problem, the cheapest first.
   *
   * @param others offers further candidates
   */
  public static List<LaunchPlan> plans(
      String op,
      FlashTask task,
      Map<String, TensorType> outputs,
      Plan.Cost cost,
      Capability capability,
      Consumer<Candidates> others) {
    var candidates = new Candidates("%s of %s".formatted(op, task.dtype().text()), capability);
    others.accept(candidates);
    var wanted = Tile.Unit.of(task.dtype(), capability);
    for (var unit : Tile.Unit.values()) {
      var tiles = tiles(unit, task);
      for (var tile : tiles) {
        if (unit != wanted) {
          candidates.refuse(
              tile.toString(),
              "%s uses %s on %s"
                  .formatted(
                      task.dtype().text(),
                      wanted == Tile.Unit.FMA ? "CUDA cores" : "tensor cores",
                      capability.target()));
          continue;
        }
        offer(task, tiles, tile, candidates, capability);
        if (task.packs(tiles.getLast().rows())) {
          offer(task.withHeadsPacked(), tiles, tile, candidates, capability);
        }
      }
    }
    return candidates.plans(outputs, cost);
  }

  private static void offer(
      FlashTask task, List<Tile> tiles, Tile tile, Candidates candidates, Capability capability) {
    offerVariant(Splits.none(task), tile, candidates, capability);
    // if a tile has more rows than queries, a smaller tile is better for splits
    if (tile.equals(tiles.getLast()) || tile.rows() <= task.rows()) {
      splits(task, tile, capability)
          .ifPresent(splits -> offerVariant(splits, tile, candidates, capability));
    }
  }

  /** Returns the cheapest splits; empty if none are possible. */
  private static Optional<Splits> splits(FlashTask task, Tile tile, Capability capability) {
    var machine = Machine.of(capability);
    int most = Splits.most(task, tile.columns());
    var counts =
        IntStream.rangeClosed(MIN_FILLINGS, MAX_FILLINGS)
            .map(fillings ->
                (int)
                    Math.min(
                        most,
                        Math.ceilDiv(
                            (long) fillings * capability.multiprocessors(), blocks(task, tile))));
    return Splits.cheapest(
        task, counts, splits -> microseconds(splits, variant(splits, tile), machine));
  }

  private static long blocks(FlashTask task, Tile tile) {
    return Math.ceilDiv(task.rows(), tile.rows()) * (long) task.heads() * task.batch();
  }

  private static void offerVariant(
      Splits splits, Tile tile, Candidates candidates, Capability capability) {
    var task = splits.task();
    var variant = variant(splits, tile);
    // without a mask, packed and unpacked heads use the same kernel
    var name = variant.name() + (task.packed() && !variant.packed() ? "_packed" : "");
    long blocks = blocks(task, tile) * splits.count();
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
      return;
    }
    var machine = Machine.of(capability);
    candidates.offer(
        name,
        splits.order(name),
        microseconds(splits, variant, machine),
        "%d blocks, %d per multiprocessor%s"
            .formatted(blocks, machine.resident(work(splits, variant, machine)), splits.how()),
        steps(splits, variant, (int) blocks),
        splits.workspaceBytes());
  }

  private static FlashVariant variant(Splits splits, Tile tile) {
    var task = splits.task();
    return new FlashVariant(
        tile,
        task.dtype(),
        FlashVariant.padded(task.d()),
        FlashVariant.padded(task.dv(), tile.across()),
        RowCopy.access((long) task.d() * task.dtype().bytes()),
        RowCopy.access((long) task.dv() * task.dtype().bytes()),
        task.score(),
        task.logSumExp() && !splits.several(),
        task.store(),
        task.positioned(),
        splits.several(),
        task.mask().map(Mask::dtype));
  }

  private static BlockWork work(Splits splits, FlashVariant variant, Machine machine) {
    var task = splits.task();
    var tile = variant.tile();
    var work =
        new TileWork(
            machine,
            tile,
            task.dtype(),
            variant.d(),
            variant.dv(),
            tile.across() * variant.d() + variant.dv(),
            variant.sharedBytes());
    return work.over(
        Math.ceil(task.visible() / splits.count() / tile.columns()),
        tile.rows()
            * ((double) task.d() * task.dtype().bytes() + task.dv() * splits.elementBytes()));
  }

  /** Returns the estimated time of attention and of combining its splits. */
  private static double microseconds(Splits splits, FlashVariant variant, Machine machine) {
    var task = splits.task();
    int bytes = task.dtype().bytes();
    double rows = task.allRows() * (double) (task.d() + task.dv()) * bytes;
    double keys =
        (double) task.batch()
            * task.heads()
            / task.group()
            * task.keys()
            * (task.d() + task.dv())
            * bytes;
    return machine.microseconds(
            blocks(task, variant.tile()) * splits.count(),
            work(splits, variant, machine),
            rows + keys + task.maskBytes())
        + splits.combining(machine);
  }

  private static List<Step> steps(Splits splits, FlashVariant variant, int blocks) {
    var task = splits.task();
    var arguments =
        task.score()
            .arguments(task.scale(), task.cap(), task.window())
            .inputs("q")
            .with("k", Slot.input(task.k()))
            .with("v", Slot.input(task.v()))
            .with("rows", task.rows())
            .with("keys", task.keys())
            .with("heads", task.heads())
            .with("group", task.group())
            .with("d", task.d())
            .with("dv", task.dv())
            .with(task.cacheArguments())
            .with(task.maskArguments());
    if (variant.packed()) {
      arguments = arguments.with("queries", task.queries());
    }
    if (splits.several()) {
      arguments = arguments.with("batches", task.batch());
    }
    return splits.steps(
        new Step(
            variant,
            Dim3.of(blocks),
            variant.tile().threads(),
            variant.sharedBytes(),
            arguments.with("out", splits.out()).with(splits.arguments())));
  }
}
