package dev.athanor.ops.attention.warpgroup;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.attention.FlashTask;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.attention.Mask;
import dev.athanor.ops.attention.Splits;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Offers attention whose blocks copy with the tensor memory accelerator and multiply with {@code
 * wgmma} (sm_90a).
 */
public record WarpgroupPlanner(FlashTask task, Machine machine) {

  /** Maximum number of columns for which the sums of a warpgroup fit its registers. */
  private static final int MOST_COLUMNS = 256;

  /** The same beside a softcap and the elements of a mask. */
  private static final int MOST_CAPPED_AND_MASKED = 192;

  /** The same beside a softcap, a window and lse without a mask, except {@link #MOST_COLUMNS}. */
  private static final int MOST_CAPPED_WITH_SUMS = 128;

  /** Bytes to which rows are aligned. */
  private static final int ALIGNMENT = 16;

  /** Rows after which the swizzle of shared memory repeats. */
  private static final int ROWS_OF_COPY = 8;

  /**
   * Instructions per score: subtract, scale, exponentiate, compare, sum and half a conversion.
   * Source: the machine code.
   */
  private static final double SCORE_INSTRUCTIONS = 6;

  /** Instructions of a softcap per score, two of which are special functions. */
  private static final double CAP_INSTRUCTIONS = 15;

  /**
   * Instructions of a mask per score: half a load, half a test of the bounds, convert, add, compare
   * and select.
   */
  private static final double MASK_INSTRUCTIONS = 5;

  /** Instructions per element to look for infinities and NaNs in values. */
  private static final double SCREEN_INSTRUCTIONS = 3.5;

  /**
   * The share of the softmax that does not overlap with products: assumed, not measured. The model
   * of the other kernels assumes that all of it does.
   */
  private static final double APART = 0.25;

  /** The share of the L2 cache for the keys and values of the heads that run side by side. */
  private static final double CACHED = 0.5;

  /** Adds the candidates for a problem, or the reasons why there are none. */
  public static void offer(FlashTask task, Candidates candidates, Capability device) {
    if (task.dtype() == DType.F16 || task.dtype() == DType.BF16) {
      for (var tile : tiles(task)) {
        new WarpgroupPlanner(task, Machine.of(device)).offer(tile, candidates);
        if (cached(task) && task.packs(tile.rows())) {
          new WarpgroupPlanner(task.withHeadsPacked(), Machine.of(device)).offer(tile, candidates);
        }
      }
    }
  }

  private static boolean cached(FlashTask task) {
    return task.store() != Store.DENSE;
  }

  private static List<WarpgroupTile> tiles(FlashTask task) {
    int columns = FlashVariant.padded(Math.max(task.d(), task.dv()));
    var tiles = new ArrayList<>(tiles(task, columns));
    if (cached(task)) {
      // as many stages as fit, for few queries: the time to copy exceeds that to multiply
      tiles.add(
          new WarpgroupTile(
              1, 64, columns <= 64 ? 8 : columns <= 128 ? 6 : columns <= 192 ? 4 : 3));
    }
    return tiles;
  }

  /**
   * Returns the tiles of many queries. More keys would spill registers.
   *
   * @param columns padded to a multiple of 16
   */
  private static List<WarpgroupTile> tiles(FlashTask task, int columns) {
    if (task.mask().isPresent()) {
      return List.of(
          columns <= 128
              ? new WarpgroupTile(2, 64, 4)
              : new WarpgroupTile(2, WarpgroupTile.FEW_KEYS, 2));
    }
    if (task.score().softcap() && columns <= 128) {
      return List.of(columns <= 64 ? new WarpgroupTile(2, 128, 4) : new WarpgroupTile(2, 112, 2));
    }
    if (columns <= 64) {
      return List.of(new WarpgroupTile(2, 128, 4), new WarpgroupTile(3, 128, 4));
    }
    if (columns <= 128) {
      return List.of(new WarpgroupTile(2, 128, 2), new WarpgroupTile(2, 176, 2));
    }
    return List.of(columns <= 192 ? new WarpgroupTile(2, 112, 2) : new WarpgroupTile(2, 80, 2));
  }

  private void offer(WarpgroupTile tile, Candidates candidates) {
    offer(Splits.none(task), tile, candidates);
    if (cached(task)) {
      Splits.cheapest(
              task,
              IntStream.rangeClosed(1, Splits.most(task, tile.keys())),
              splits -> microseconds(splits, variant(splits, tile)))
          .ifPresent(splits -> offer(splits, tile, candidates));
    }
  }

  private WarpgroupVariant variant(Splits splits, WarpgroupTile tile) {
    return new WarpgroupVariant(
        tile,
        task.dtype(),
        FlashVariant.padded(task.d()),
        FlashVariant.padded(task.dv()),
        task.score(),
        task.logSumExp() && !splits.several(),
        task.store(),
        keysOfCopy(tile),
        task.positioned(),
        splits.several(),
        task.mask().map(Mask::dtype),
        task.keys() % 2 == 0 ? 2 : 1);
  }

  /** Returns the keys of the largest part of a tile that no two blocks of a cache share. */
  private int keysOfCopy(WarpgroupTile tile) {
    return task.store() == Store.PAGED
        ? BigInteger.valueOf(tile.keys())
            .gcd(BigInteger.valueOf(task.pages().blockSize()))
            .intValue()
        : tile.keys();
  }

  private void offer(Splits splits, WarpgroupTile tile, Candidates candidates) {
    var variant = variant(splits, tile);
    if (candidates.runs(Target.SM_90A, variant.name())) {
      refusal(splits, tile)
          .ifPresentOrElse(
              reason -> candidates.refuse(variant.name(), reason),
              () -> offer(splits, variant, candidates));
    }
  }

  private Optional<String> refusal(Splits splits, WarpgroupTile tile) {
    if (task.mask().isPresent() && task.score().softcap() && columns() > MOST_CAPPED_AND_MASKED) {
      return Optional.of(
          "registers suffice for a softcap and a mask up to head size %d"
              .formatted(MOST_CAPPED_AND_MASKED));
    }
    boolean capped = task.score().softcap() && task.score().window() && task.logSumExp();
    boolean isBetween = columns() > MOST_CAPPED_WITH_SUMS && columns() < MOST_COLUMNS;
    if (capped && task.mask().isEmpty() && isBetween) {
      return Optional.of(
          "registers do not suffice for a softcap, a window and lse at head sizes between %d and %d"
              .formatted(MOST_CAPPED_WITH_SUMS, MOST_COLUMNS));
    }
    if (columns() > MOST_COLUMNS) {
      return Optional.of("computes head sizes up to %d".formatted(MOST_COLUMNS));
    }
    long aligned = Long.lowestOneBit((long) (task.d() | task.dv()) * task.dtype().bytes());
    if (aligned < ALIGNMENT) {
      return Optional.of(
          "rows are aligned to %d bytes; the tensor memory accelerator requires %d"
              .formatted(aligned, ALIGNMENT));
    }
    if (keysOfCopy(tile) % ROWS_OF_COPY != 0) {
      return Optional.of(
          "copies multiples of %d keys; blocks have %d"
              .formatted(ROWS_OF_COPY, task.pages().blockSize()));
    }
    if (tile.groups() > 2 && task.store() == Store.PAGED) {
      return Optional.of("registers of the warpgroup that copies do not suffice for a block table");
    }
    if (tile.groups() > 1 && task.rows() <= tile.rows() / 2) {
      return Optional.of("smaller tiles waste less of each block");
    }
    long blocks = blocks(splits, tile);
    if (blocks > Integer.MAX_VALUE) {
      return Optional.of("requires %d blocks; the limit is 2^31 - 1".formatted(blocks));
    }
    return Optional.empty();
  }

  private int columns() {
    return Math.max(task.d(), task.dv());
  }

  /** Returns the number of heads of all batches. */
  private long matrices() {
    return (long) task.batch() * task.heads();
  }

  private long blocks(Splits splits, WarpgroupTile tile) {
    return Math.ceilDiv(task.rows(), tile.rows()) * matrices() * splits.count();
  }

  /** Returns the bytes of the keys and values of a head. */
  private double keyBytes() {
    return (double) task.keys() * (task.d() + task.dv()) * task.dtype().bytes();
  }

  private double rowBytes() {
    return (double) task.rows() * (task.d() + task.dv()) * task.dtype().bytes();
  }

  /**
   * Returns the heads whose tiles are sorted by length together: as many as share the L2 cache if
   * tiles have different lengths.
   */
  private int section() {
    double cached = CACHED * machine.gpu().ceilings().l2Bytes() / keyBytes() * task.group();
    int heads = (int) Math.min(cached, (double) matrices());
    int whole = heads / task.group() * task.group();
    return task.score().causal() ? Math.max(task.group(), whole) : 1;
  }

  private void offer(Splits splits, WarpgroupVariant variant, Candidates candidates) {
    var tile = variant.tile();
    int blocks = Math.toIntExact(blocks(splits, tile));
    int section = section();
    var step =
        new Step(
            variant,
            Dim3.of(blocks),
            tile.threads(),
            variant.sharedBytes(),
            arguments(splits, variant, section));
    candidates.offer(
        variant.name(),
        splits.order(variant.order()),
        microseconds(splits, variant),
        "%d blocks of %d warpgroups, %d heads at a time%s"
            .formatted(blocks, 1 + tile.groups(), section, splits.how()),
        splits.steps(step),
        splits.workspaceBytes());
  }

  /** Returns the estimated time of attention and of combining its splits. */
  private double microseconds(Splits splits, WarpgroupVariant variant) {
    double bytes = matrices() * (rowBytes() + keyBytes() / task.group()) + task.maskBytes();
    return machine.microseconds(blocks(splits, variant.tile()), work(splits, variant), bytes)
        + splits.combining(machine);
  }

  private BlockWork work(Splits splits, WarpgroupVariant variant) {
    var tile = variant.tile();
    int depth = variant.d() + variant.dv();
    double scores = (double) tile.rows() * tile.keys();
    double multiplied = machine.peakTensorCycles(scores * depth, variant.type());
    boolean capped = task.score().softcap();
    double masked = task.mask().isPresent() ? 1 : 0;
    double instructions =
        (SCORE_INSTRUCTIONS + (capped ? CAP_INSTRUCTIONS : 0) + masked * MASK_INSTRUCTIONS) * scores
            // all tiles of values are screened if there is a mask
            + masked * SCREEN_INSTRUCTIONS * tile.keys() * variant.dv();
    double weighed =
        Math.max(
            machine.specialCycles((capped ? 3 : 1) * scores),
            machine.issueCycles(instructions / KernelBuilder.WARP));
    // each warpgroup reads keys and values, and its queries
    double read =
        machine.sharedCycles(
            tile.groups()
                * ((double) tile.keys() * depth + WarpgroupTile.ROWS * variant.d())
                * variant.dtype().bytes());
    double all = tiles(tile);
    double tiles = splits.several() ? Math.ceil(all / splits.count()) : all;
    double tileBytes = (double) variant.keys().bytes() + variant.values().bytes();
    double ofMask = scores * task.mask().map(mask -> mask.dtype().bytes()).orElse(0);
    double own =
        (double) tile.rows()
            * (variant.d() * variant.dtype().bytes() + variant.dv() * splits.elementBytes());
    // the products of a single warpgroup wait for its softmax
    double apart = tile.groups() == 1 ? 1 : APART;
    return new BlockWork(
        tile.threads(),
        tile.registers(),
        variant.sharedBytes(),
        tiles * Math.max(read, multiplied + apart * weighed),
        // the first keys, and the first and last softmax
        machine.latency() + 2 * weighed,
        tiles * (tileBytes + ofMask) + own,
        (tile.stages() - 1) * tileBytes);
  }

  /** Returns the average number of tiles of keys of a block. */
  private double tiles(WarpgroupTile tile) {
    int all = Math.ceilDiv(task.keys(), tile.keys());
    if (!task.score().hides()) {
      return all;
    }
    // the last query of a block sees more keys than the average one, and half of the last tile
    // unless tiles end with blocks
    double last = (task.visible() + Math.min(tile.rows(), task.queries()) / 2.0) / tile.keys();
    return Math.min(all, last + (tile.rows() % tile.keys() == 0 ? 0 : 0.5));
  }

  private Arguments arguments(Splits splits, WarpgroupVariant variant, int section) {
    int heads = Math.toIntExact(matrices());
    int matrices = heads * splits.count();
    var arguments =
        task.score()
            .arguments(task.scale(), task.cap(), task.window())
            .with("q", tensor(Slot.input("q"), variant.queries(), task.rows(), task.d(), heads))
            .with("k", keys(task.k(), variant, variant.keys(), task.d()))
            .with("v", keys(task.v(), variant, variant.values(), task.dv()))
            .with("out", tensor(splits.out(), variant.out(), task.rows(), task.dv(), matrices))
            .with("rows", task.rows())
            .with("keys", task.keys())
            .with("group", task.group())
            .with("dv", task.dv())
            .with("matrices", matrices)
            .with("section", section)
            .with(splits.arguments())
            .with(task.cacheArguments())
            .with(task.maskArguments());
    if (cached(task) || task.mask().isPresent()) {
      arguments = arguments.with("sharedHeads", task.heads() / task.group());
    }
    if (variant.packed()) {
      arguments = arguments.with("queries", task.queries());
    }
    return variant.hides() ? arguments.with("values", Slot.input(task.v())) : arguments;
  }

  /** Returns the tensor of keys or values, or of their blocks. */
  private Slot keys(String name, WarpgroupVariant variant, Panels panels, int columns) {
    var pages = task.pages();
    boolean paged = variant.paged();
    long heads = task.heads() / task.group();
    return new Slot.Tensor(
        Slot.input(name),
        panels.tensor(
            variant.keysOfCopy(),
            paged ? pages.blockSize() : task.keys(),
            columns,
            heads * (paged ? pages.blocks() : task.batch())));
  }

  private static Slot tensor(Slot first, Panels panels, int rows, int columns, int matrices) {
    return new Slot.Tensor(first, panels.tensor(rows, columns, matrices));
  }
}
