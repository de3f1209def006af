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
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.util.List;
import java.util.Optional;

/**
 * Offers attention whose blocks copy with the tensor memory accelerator and multiply with {@code
 * wgmma} (sm_90a).
 */
public record WarpgroupPlanner(FlashTask task, Machine machine) {

  /** Maximum number of columns for which the sums of a warpgroup fit its registers. */
  private static final int MOST_COLUMNS = 256;

  /** Bytes to which rows are aligned. */
  private static final int ALIGNMENT = 16;

  /**
   * Instructions per score: subtract, scale, exponentiate, compare, sum and half a conversion.
   * Source: the machine code.
   */
  private static final double SCORE_INSTRUCTIONS = 6;

  /**
   * The share of the softmax that does not overlap with products: assumed, not measured. The model
   * of the other kernels assumes that all of it does.
   */
  private static final double APART = 0.25;

  /** The share of the L2 cache for the keys and values of the heads that run side by side. */
  private static final double CACHED = 0.5;

  /** Registers of a thread before roles divide them. */
  private static final int REGISTERS = 168;

  /** Adds the candidates for a problem, or the reasons why there are none. */
  public static void offer(FlashTask task, Candidates candidates, Capability device) {
    if (task.dtype() == DType.F16 || task.dtype() == DType.BF16) {
      new WarpgroupPlanner(task, Machine.of(device)).offer(candidates);
    }
  }

  /** Returns the tiles for a number of columns, padded to a multiple of 16. */
  private static List<WarpgroupTile> tiles(int columns) {
    if (columns <= 64) {
      return List.of(new WarpgroupTile(2, 128, 4), new WarpgroupTile(3, 128, 4));
    }
    if (columns <= 128) {
      return List.of(new WarpgroupTile(2, 128, 2), new WarpgroupTile(2, 176, 2));
    }
    return List.of(columns <= 192 ? new WarpgroupTile(2, 112, 2) : new WarpgroupTile(2, 80, 2));
  }

  private void offer(Candidates candidates) {
    for (var tile : tiles(FlashVariant.padded(Math.max(task.d(), task.dv())))) {
      var variant =
          new WarpgroupVariant(
              tile,
              task.dtype(),
              FlashVariant.padded(task.d()),
              FlashVariant.padded(task.dv()),
              task.score(),
              task.logSumExp());
      if (candidates.runs(Target.SM_90A, variant.name())) {
        refusal(tile)
            .ifPresentOrElse(
                reason -> candidates.refuse(variant.name(), reason),
                () -> offer(variant, candidates));
      }
    }
  }

  private Optional<String> refusal(WarpgroupTile tile) {
    if (task.mask().isPresent()) {
      return Optional.of("it adds no mask to scores");
    }
    if (task.score().softcap()) {
      return Optional.of("registers do not suffice for a softcap beside the sums");
    }
    if (Math.max(task.d(), task.dv()) > MOST_COLUMNS) {
      return Optional.of("computes head sizes up to %d".formatted(MOST_COLUMNS));
    }
    long aligned = Long.lowestOneBit((long) (task.d() | task.dv()) * task.dtype().bytes());
    if (aligned < ALIGNMENT) {
      return Optional.of(
          "rows are aligned to %d bytes; the tensor memory accelerator requires %d"
              .formatted(aligned, ALIGNMENT));
    }
    if (task.rows() <= tile.rows() / 2) {
      return Optional.of("smaller tiles waste less of each block");
    }
    if (blocks(tile) > Integer.MAX_VALUE) {
      return Optional.of("requires %d blocks; the limit is 2^31 - 1".formatted(blocks(tile)));
    }
    return Optional.empty();
  }

  /** Returns the number of heads of all batches. */
  private long matrices() {
    return (long) task.batch() * task.heads();
  }

  private long blocks(WarpgroupTile tile) {
    return Math.ceilDiv(task.rows(), tile.rows()) * matrices();
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

  private void offer(WarpgroupVariant variant, Candidates candidates) {
    var tile = variant.tile();
    int blocks = Math.toIntExact(blocks(tile));
    int section = section();
    double bytes = matrices() * (rowBytes() + keyBytes() / task.group());
    candidates.offer(
        variant.name(),
        variant.order(),
        machine.microseconds(blocks, work(variant), bytes),
        "%d blocks of %d warpgroups, %d heads at a time"
            .formatted(blocks, 1 + tile.groups(), section),
        List.of(
            new Step(
                variant,
                Dim3.of(blocks),
                tile.threads(),
                variant.sharedBytes(),
                arguments(variant, section))),
        0);
  }

  private BlockWork work(WarpgroupVariant variant) {
    var tile = variant.tile();
    int depth = variant.d() + variant.dv();
    double scores = (double) tile.rows() * tile.keys();
    double multiplied = machine.peakTensorCycles(scores * depth, variant.type());
    double weighed =
        Math.max(
            machine.specialCycles(scores),
            machine.issueCycles(SCORE_INSTRUCTIONS * scores / KernelBuilder.WARP));
    // each warpgroup reads keys and values, and its queries
    double read =
        machine.sharedCycles(
            tile.groups()
                * ((double) tile.keys() * depth + WarpgroupTile.ROWS * variant.d())
                * variant.dtype().bytes());
    double tiles = tiles(tile);
    double tileBytes = (double) variant.keys().bytes() + variant.values().bytes();
    double own = (double) tile.rows() * depth * variant.dtype().bytes();
    return new BlockWork(
        tile.threads(),
        REGISTERS,
        variant.sharedBytes(),
        tiles * Math.max(read, multiplied + APART * weighed),
        // the first keys, and the first and last softmax
        machine.latency() + 2 * weighed,
        tiles * tileBytes + own,
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
    double last = (task.visible() + tile.rows() / 2.0) / tile.keys();
    return Math.min(all, last + (tile.rows() % tile.keys() == 0 ? 0 : 0.5));
  }

  private Arguments arguments(WarpgroupVariant variant, int section) {
    int matrices = Math.toIntExact(matrices());
    int shared = matrices / task.group();
    var arguments =
        task.score()
            .arguments(task.scale(), task.cap(), task.window())
            .with("q", tensor(Slot.input("q"), variant.queries(), task.rows(), task.d(), matrices))
            .with("k", tensor(Slot.input(task.k()), variant.keys(), task.keys(), task.d(), shared))
            .with(
                "v", tensor(Slot.input(task.v()), variant.values(), task.keys(), task.dv(), shared))
            .with(
                "out", tensor(Slot.output("out"), variant.out(), task.rows(), task.dv(), matrices))
            .with("rows", task.rows())
            .with("keys", task.keys())
            .with("group", task.group())
            .with("dv", task.dv())
            .with("matrices", matrices)
            .with("section", section);
    if (task.logSumExp()) {
      arguments = arguments.outputs("lse");
    }
    return task.score().hides() ? arguments.with("values", Slot.input(task.v())) : arguments;
  }

  private static Slot tensor(Slot first, Panels panels, int rows, int columns, int matrices) {
    return new Slot.Tensor(first, panels.tensor(rows, columns, matrices));
  }
}
