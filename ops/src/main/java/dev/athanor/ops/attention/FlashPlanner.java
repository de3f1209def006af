package dev.athanor.ops.attention;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.cost.Candidates;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Chooses the tiles of attention, and whether the keys are split over several blocks. */
public final class FlashPlanner {

  /** Tiles of columns that a split has at least. */
  private static final int LEAST_TILES = 2;

  private static final int MOST_SPLITS = 128;

  /** Warps of a multiprocessor that together keep it busy. */
  private static final double BUSY_WARPS = 8;

  /**
   * What it costs a warp to copy a column of keys and values, where to multiply 16 rows with it
   * costs 1.
   */
  private static final double COPY = 1;

  /** The share of what a block does by itself and of what all share that do not overlap. */
  private static final double APART = 0.25;

  private FlashPlanner() {}

  /**
   * What the kernel computes.
   *
   * @param heads in the grid
   * @param group heads that share one of k and v
   * @param rows queries of a head
   * @param keys the most that there are of a head
   * @param visible keys of a query on average
   * @param store where k and v are, in the inputs called {@code k} and {@code v}
   * @param pages blocks of a sequence, blocks of all, and rows of a block; zeros unless paged
   */
  public record Task(
      DType dtype,
      int batch,
      int heads,
      int group,
      int rows,
      int keys,
      int d,
      int dv,
      Score score,
      double scale,
      double cap,
      int window,
      double visible,
      boolean logSumExp,
      Store store,
      String k,
      String v,
      Pages pages) {}

  /** The extents of a paged cache. */
  public record Pages(int maxBlocks, int blocks, int blockSize) {
    public static final Pages NONE = new Pages(0, 0, 0);
  }

  /** Of a block: many rows, some, or few. */
  static List<Tile> tiles(Tile.Unit unit, int columns) {
    return switch (unit) {
      case TENSOR -> {
        int across = columns <= 128 ? 64 : 32;
        yield List.of(
            new Tile(unit, 128, across, columns <= 64 ? 32 : 16),
            new Tile(unit, 64, across, 16),
            new Tile(unit, 16, across, 16));
      }
      case CORES ->
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
      Task task,
      Map<String, TensorType> outputs,
      Plan.Cost cost,
      Capability capability) {
    var candidates = new Candidates("%s of %s".formatted(op, task.dtype.text()), capability);
    var wanted = task.dtype == DType.F32 ? Tile.Unit.CORES : Tile.Unit.TENSOR;
    for (var unit : Tile.Unit.values()) {
      var tiles = tiles(unit, Math.max(task.d, task.dv));
      for (var tile : tiles) {
        if (unit != wanted) {
          candidates.refuse(
              tile.toString(), "%s is computed by %s".formatted(task.dtype.text(), wanted));
          continue;
        }
        judge(task, tile, 1, candidates, capability);
        // of a tile with more rows than there are queries, a smaller one splits better
        if (tile.equals(tiles.getLast()) || tile.rows() <= task.rows) {
          judge(task, tile, splits(task, tile, capability), candidates, capability);
        }
      }
    }
    return candidates.plans(outputs, cost);
  }

  /** As many as make two blocks for each multiprocessor; 0 where a block alone is right. */
  private static int splits(Task task, Tile tile, Capability capability) {
    long enough = Math.ceilDiv(2L * capability.multiprocessors(), blocks(task, tile));
    int most = Math.ceilDiv(task.keys, LEAST_TILES * tile.columns());
    int splits = (int) Math.min(Math.min(enough, most), MOST_SPLITS);
    return splits > 1 ? splits : 0;
  }

  private static long blocks(Task task, Tile tile) {
    return Math.ceilDiv(task.rows, tile.rows()) * (long) task.heads * task.batch;
  }

  private static void judge(
      Task task, Tile tile, int splits, Candidates candidates, Capability capability) {
    if (splits == 0) {
      return;
    }
    boolean split = splits > 1;
    var variant =
        new FlashVariant(
            tile,
            task.dtype,
            FlashVariant.padded(task.d),
            FlashVariant.padded(task.dv),
            RowCopy.access((long) task.d * task.dtype.bytes()),
            RowCopy.access((long) task.dv * task.dtype.bytes()),
            task.score,
            task.logSumExp && !split,
            task.store,
            split);
    var name = variant.name();
    if (!candidates.runs(Target.SM_80, name)) {
      return;
    }
    long blocks = blocks(task, tile) * splits;
    if (blocks > Integer.MAX_VALUE) {
      candidates.refuse(name, "it needs %d blocks, and 2^31 - 1 are the most".formatted(blocks));
      return;
    }
    // A block's warps copy a tile of keys and values together and multiply it each for itself.
    int warps = tile.threads() / 32;
    double waves = Math.ceil(blocks * warps / (capability.multiprocessors() * BUSY_WARPS));
    double tiles = Math.ceil(task.visible / splits / tile.columns());
    double step = tile.columns() * (tile.warpRows() / 16.0 + COPY / warps);
    // All blocks of a multiprocessor share what it multiplies and receives.
    double most = Math.max(tile.rows() / 16.0 / BUSY_WARPS, received(tile.unit()));
    double busy = blocks / (double) capability.multiprocessors() * tile.columns() * most;
    double perTile = Math.max(waves * step, busy) + APART * Math.min(waves * step, busy);
    double time = tiles * perTile + (split ? 4 * tile.columns() + splits : 0);
    candidates.offer(
        name,
        time,
        "%.0f waves of blocks and %.0f tiles of %.0f%s"
            .formatted(
                waves, tiles, perTile, split ? ", and %d splits to combine".formatted(splits) : ""),
        steps(task, variant, (int) blocks, splits),
        split ? partialBytes(task, splits) + lseBytes(task, splits) : 0);
  }

  /**
   * What it costs a multiprocessor to receive a column: 20 bytes a cycle, as memory gives all of
   * them, against the multiply-adds of {@link #BUSY_WARPS} times 16 rows, 1024 a cycle of 16-bit
   * elements by tensor cores and 128 of f32 without.
   */
  private static double received(Tile.Unit unit) {
    return switch (unit) {
      case TENSOR -> 2 / 20.0 * 1024 / (16 * BUSY_WARPS);
      case CORES -> 4 / 20.0 * 128 / (16 * BUSY_WARPS);
    };
  }

  private static long queries(Task task) {
    return (long) task.batch * task.heads * task.rows;
  }

  private static long partialBytes(Task task, int splits) {
    return queries(task) * task.dv * splits * 4;
  }

  private static long lseBytes(Task task, int splits) {
    return queries(task) * splits * 4;
  }

  private static List<Step> steps(Task task, FlashVariant variant, int blocks, int splits) {
    boolean split = splits > 1;
    Slot partial = new Slot.Workspace(0);
    Slot partialLse = new Slot.Workspace(split ? partialBytes(task, splits) : 0);
    var out = Slot.output("out");
    // a kernel that does not write lse never looks at the pointer
    var lse = task.logSumExp ? Slot.output("lse") : out;
    var slots = new ArrayList<Slot>();
    slots.addAll(
        List.of(
            Slot.input("q"),
            Slot.input(task.k),
            Slot.input(task.v),
            split ? partial : out,
            split ? partialLse : lse));
    if (task.store != Store.DENSE) {
      slots.add(Slot.input("lengths"));
    }
    if (task.store == Store.PAGED) {
      slots.add(Slot.input("blockTable"));
    }
    slots.addAll(
        List.of(
            Slot.of(task.rows),
            Slot.of(task.keys),
            Slot.of(task.heads),
            Slot.of(task.group),
            Slot.of(task.d),
            Slot.of(task.dv)));
    if (split) {
      slots.addAll(List.of(Slot.of(task.batch), Slot.of(splits)));
    }
    slots.addAll(
        List.of(
            Slot.of(task.score.factor(task.scale, task.cap)),
            Slot.of(Score.cap(task.cap)),
            Slot.of(task.window)));
    if (task.store == Store.PAGED) {
      slots.addAll(
          List.of(
              Slot.of(task.pages.maxBlocks),
              Slot.of(task.pages.blocks),
              Slot.of(task.pages.blockSize)));
    }
    var steps = new ArrayList<Step>();
    steps.add(
        new Step(variant, Dim3.of(blocks), variant.tile().threads(), variant.sharedBytes(), slots));
    if (split) {
      int queries = (int) queries(task);
      steps.add(
          new Step(
              new CombineVariant(task.dtype, task.logSumExp),
              Dim3.of(queries),
              CombineVariant.THREADS,
              0,
              List.of(
                  partial,
                  partialLse,
                  out,
                  lse,
                  Slot.of(queries),
                  Slot.of(task.dv),
                  Slot.of(splits))));
    }
    return steps;
  }
}
