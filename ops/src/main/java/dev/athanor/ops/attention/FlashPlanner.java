package dev.athanor.ops.attention;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Chooses the tiles of attention and the number of key splits. */
public final class FlashPlanner {

  /** The minimum number of column tiles per split. */
  private static final int MIN_TILES = 2;

  private static final int MAX_SPLITS = 128;

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

  public static List<LaunchPlan> plans(
      String op,
      FlashTask task,
      Map<String, TensorType> outputs,
      Plan.Cost cost,
      Capability capability) {
    return plans(op, task, outputs, cost, capability, _ -> {});
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
        if (task.packs(tiles.getLast())) {
          offer(task.withHeadsPacked(), tiles, tile, candidates, capability);
        }
      }
    }
    return candidates.plans(outputs, cost);
  }

  private static void offer(
      FlashTask task, List<Tile> tiles, Tile tile, Candidates candidates, Capability capability) {
    offerVariant(task, tile, 1, candidates, capability);
    // if a tile has more rows than queries, a smaller tile is better for splits
    if (tile.equals(tiles.getLast()) || tile.rows() <= task.rows()) {
      splits(task, tile, capability)
          .ifPresent(splits -> offerVariant(task, tile, splits, candidates, capability));
    }
  }

  /** Returns the cheapest number of splits greater than 1; empty if none is possible. */
  private static OptionalInt splits(FlashTask task, Tile tile, Capability capability) {
    var machine = Machine.of(capability);
    int most = Math.min(MAX_SPLITS, Math.ceilDiv(task.keys(), MIN_TILES * tile.columns()));
    return IntStream.rangeClosed(MIN_FILLINGS, MAX_FILLINGS)
        .map(fillings ->
            (int)
                Math.min(
                    most,
                    Math.ceilDiv(
                        (long) fillings * capability.multiprocessors(), blocks(task, tile))))
        .filter(splits -> splits > 1)
        .boxed()
        .min(
            Comparator.comparingDouble(
                splits -> microseconds(task, variant(task, tile, splits), splits, machine)))
        .map(OptionalInt::of)
        .orElseGet(OptionalInt::empty);
  }

  private static long blocks(FlashTask task, Tile tile) {
    return Math.ceilDiv(task.rows(), tile.rows()) * (long) task.heads() * task.batch();
  }

  private static void offerVariant(
      FlashTask task, Tile tile, int splits, Candidates candidates, Capability capability) {
    boolean split = splits > 1;
    var variant = variant(task, tile, splits);
    // without a mask, packed and unpacked heads use the same kernel
    var name = variant.name() + (task.packed() && !variant.packed() ? "_packed" : "");
    long blocks = blocks(task, tile) * splits;
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
      return;
    }
    var machine = Machine.of(capability);
    candidates.offer(
        name,
        microseconds(task, variant, splits, machine),
        "%d blocks, %d per multiprocessor%s"
            .formatted(
                blocks,
                machine.resident(work(task, variant, splits, machine)),
                split ? ", and %d splits to combine".formatted(splits) : ""),
        steps(task, variant, (int) blocks, splits),
        split ? partialBytes(task, splits) + sumBytes(task, splits) : 0);
  }

  private static FlashVariant variant(FlashTask task, Tile tile, int splits) {
    return new FlashVariant(
        tile,
        task.dtype(),
        FlashVariant.padded(task.d()),
        FlashVariant.padded(task.dv(), tile.across()),
        RowCopy.access((long) task.d() * task.dtype().bytes()),
        RowCopy.access((long) task.dv() * task.dtype().bytes()),
        task.score(),
        task.logSumExp() && splits == 1,
        task.store(),
        task.positioned(),
        splits > 1,
        task.mask().map(Mask::dtype));
  }

  private static BlockWork work(FlashTask task, FlashVariant variant, int splits, Machine machine) {
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
    int written = splits > 1 ? Float.BYTES : task.dtype().bytes();
    return work.over(
        Math.ceil(task.visible() / splits / tile.columns()),
        tile.rows() * ((double) task.d() * task.dtype().bytes() + task.dv() * written));
  }

  /** Returns the estimated time of attention and of combining its splits. */
  private static double microseconds(
      FlashTask task, FlashVariant variant, int splits, Machine machine) {
    int bytes = task.dtype().bytes();
    double rows = queries(task) * (double) (task.d() + task.dv()) * bytes;
    double keys =
        (double) task.batch()
            * task.heads()
            / task.group()
            * task.keys()
            * (task.d() + task.dv())
            * bytes;
    double attending =
        machine.microseconds(
            blocks(task, variant.tile()) * splits,
            work(task, variant, splits, machine),
            rows + keys + maskBytes(task));
    return splits == 1
        ? attending
        : attending
            + machine.sum(
                (double) (partialBytes(task, splits) + sumBytes(task, splits)),
                queries(task) * (double) task.dv() * bytes,
                CombineVariant.rounds(task.dv(), splits));
  }

  private static double maskBytes(FlashTask task) {
    return task.mask()
        .map(mask -> (double) mask.rows() * task.keys() * mask.dtype().bytes())
        .orElse(0.0);
  }

  private static long queries(FlashTask task) {
    return (long) task.batch() * task.heads() * task.rows();
  }

  /** Returns the bytes of the partial results, a multiple of the size of a score and its sum. */
  private static long partialBytes(FlashTask task, int splits) {
    return Math.ceilDiv(queries(task) * task.dv() * splits, 2) * 2 * Float.BYTES;
  }

  private static long sumBytes(FlashTask task, int splits) {
    return queries(task) * splits * 2 * Float.BYTES;
  }

  private static List<Step> steps(FlashTask task, FlashVariant variant, int blocks, int splits) {
    boolean split = splits > 1;
    var partial = new Slot.Workspace(0);
    var partialSums = new Slot.Workspace(split ? partialBytes(task, splits) : 0);
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
            .with("dv", task.dv());
    if (task.store() != Store.DENSE) {
      arguments = arguments.inputs("lengths");
    }
    if (task.store() == Store.PAGED) {
      arguments =
          arguments
              .with("table", Slot.input("blockTable"))
              .with("maxBlocks", task.pages().maxBlocks())
              .with("blocks", task.pages().blocks())
              .with("blockSize", task.pages().blockSize());
    }
    if (task.mask().isPresent()) {
      var mask = task.mask().get();
      arguments =
          arguments
              .inputs(Mask.NAME)
              .with("batchRows", mask.batchRows())
              .with("headRows", mask.headRows())
              .with("queryRows", mask.queryRows());
    }
    if (variant.packed()) {
      arguments = arguments.with("queries", task.queries());
    }
    var result = Arguments.NONE.outputs("out");
    result = task.logSumExp() ? result.outputs("lse") : result;
    var written = result;
    if (split) {
      written =
          Arguments.NONE
              .with("out", partial)
              .with("lse", partialSums)
              .with("batches", task.batch())
              .with("splits", splits);
    }
    var steps = new ArrayList<Step>();
    steps.add(
        new Step(
            variant,
            Dim3.of(blocks),
            variant.tile().threads(),
            variant.sharedBytes(),
            arguments.with(written)));
    if (split) {
      int queries = (int) queries(task);
      steps.add(
          new Step(
              new CombineVariant(task.dtype(), task.logSumExp()),
              Dim3.of(queries),
              CombineVariant.THREADS,
              0,
              result
                  .with("partial", partial)
                  .with("partialSums", partialSums)
                  .with("queries", queries)
                  .with("dv", task.dv())
                  .with("splits", splits)
                  .with("factor", task.score().log2Factor(task.scale()))));
    }
    return steps;
  }
}
