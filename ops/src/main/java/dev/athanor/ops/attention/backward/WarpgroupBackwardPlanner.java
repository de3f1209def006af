package dev.athanor.ops.attention.backward;

import dev.athanor.engine.author.KernelBuilder;
import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.device.TensorMap;
import dev.athanor.engine.device.TensorMap.Element;
import dev.athanor.engine.ptx.Target;
import dev.athanor.ops.DType;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.FlashVariant;
import dev.athanor.ops.attention.backward.BackwardVariant.Of;
import dev.athanor.ops.attention.warpgroup.Panels;
import dev.athanor.ops.attention.warpgroup.WarpgroupTile;
import dev.athanor.ops.cost.BlockWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import java.util.List;
import java.util.Optional;

/** Offers gradients of attention by blocks whose warpgroups have roles (sm_90a). */
record WarpgroupBackwardPlanner(AttentionProblem p, Machine machine) {

  /** Maximum number of columns for which the sums of dk and dv fit the registers of a warpgroup. */
  private static final int MOST_COLUMNS = 128;

  /** Bytes to which rows are aligned. */
  private static final int ALIGNMENT = 16;

  /**
   * Instructions per score: scale, compare, exponentiate, subtract, multiply, select and two halves
   * of a conversion. Source: the machine code.
   */
  private static final double SCORE_INSTRUCTIONS = 9;

  /** The share of these instructions that does not overlap with products: assumed, not measured. */
  private static final double APART = 0.25;

  /** Registers of a thread before roles divide them, for two and for three that multiply. */
  private static final List<Integer> REGISTERS = List.of(168, 128);

  /**
   * Adds the candidate for a problem, or the reason why there is none.
   *
   * @param delta computes the sums of {@code grad · out} in {@code workspaceBytes}
   * @param microseconds its estimated time
   */
  static void offer(
      AttentionProblem p,
      Step delta,
      double microseconds,
      long workspaceBytes,
      Candidates candidates,
      Capability device) {
    if (p.dtype() != DType.F16 && p.dtype() != DType.BF16) {
      return;
    }
    var planner = new WarpgroupBackwardPlanner(p, Machine.of(device));
    var queries = planner.variant(Of.QUERIES);
    var keys = planner.variant(Of.KEYS);
    if (!candidates.runs(Target.SM_90A, keys.name())) {
      return;
    }
    var refusal =
        planner.refusal().or(() -> planner.refusal(queries)).or(() -> planner.refusal(keys));
    if (refusal.isPresent()) {
      candidates.refuse(keys.name(), refusal.get());
      return;
    }
    candidates.offer(
        keys.name(),
        microseconds + planner.microseconds(queries) + planner.microseconds(keys),
        "%d blocks for dq and %d for dk and dv, of %d and %d warpgroups"
            .formatted(
                planner.blocks(queries),
                planner.blocks(keys),
                1 + queries.tile().groups(),
                1 + keys.tile().groups()),
        List.of(delta, planner.step(queries), planner.step(keys)),
        workspaceBytes);
  }

  private WarpgroupBackwardVariant variant(Of of) {
    int d = FlashVariant.padded(p.d());
    int dv = FlashVariant.padded(p.dv());
    return new WarpgroupBackwardVariant(of, tile(of, Math.max(d, dv)), p.dtype(), d, dv, p.score());
  }

  private WarpgroupTile tile(Of of, int columns) {
    int groups = columns <= 64 ? 3 : 2;
    if (of == Of.QUERIES) {
      return groups == 3 ? new WarpgroupTile(3, 64, 3) : new WarpgroupTile(2, 128, 2);
    }
    // beside the sums of dk and dv, registers suffice for few scores, and for fewer with a softcap
    return new WarpgroupTile(groups, p.score().softcap() ? 32 : 64, 3);
  }

  private Optional<String> refusal() {
    if (Math.max(p.d(), p.dv()) > MOST_COLUMNS) {
      return Optional.of("computes head sizes up to %d".formatted(MOST_COLUMNS));
    }
    long aligned = Long.lowestOneBit((long) (p.d() | p.dv()) * p.dtype().bytes());
    if (aligned < ALIGNMENT) {
      return Optional.of(
          "rows are aligned to %d bytes; the tensor memory accelerator requires %d"
              .formatted(aligned, ALIGNMENT));
    }
    return Optional.empty();
  }

  private Optional<String> refusal(WarpgroupBackwardVariant variant) {
    if (rows(variant) <= variant.tile().rows() / 2) {
      return Optional.of("smaller tiles waste less of each block");
    }
    long blocks = blocks(variant);
    long queries = (long) p.batch() * p.heads() * p.queries();
    if (Math.max(blocks, queries) > Integer.MAX_VALUE) {
      return Optional.of(
          "requires %d blocks for %d queries; the limit of both is 2^31 - 1"
              .formatted(blocks, queries));
    }
    return Optional.empty();
  }

  private int rows(WarpgroupBackwardVariant variant) {
    return variant.isOfQueries() ? p.queries() : p.keys();
  }

  /** Returns the number of heads whose gradients a kernel computes, of all batches. */
  private long matrices(WarpgroupBackwardVariant variant) {
    return (long) p.batch() * (variant.isOfQueries() ? p.heads() : p.sharedHeads());
  }

  private long blocks(WarpgroupBackwardVariant variant) {
    return Math.ceilDiv(rows(variant), variant.tile().rows()) * matrices(variant);
  }

  private double microseconds(WarpgroupBackwardVariant variant) {
    double heads = (double) p.heads() * p.queries() + (double) p.sharedHeads() * p.keys();
    double read = p.batch() * heads * (p.d() + p.dv()) * p.dtype().bytes();
    double written = matrices(variant) * rows(variant) * ofRow(variant);
    return machine.microseconds(blocks(variant), work(variant), read + written);
  }

  /** Returns the bytes of the gradients of a row. */
  private double ofRow(WarpgroupBackwardVariant variant) {
    return (variant.isOfQueries() ? p.d() : p.d() + p.dv()) * (double) p.dtype().bytes();
  }

  private BlockWork work(WarpgroupBackwardVariant variant) {
    var tile = variant.tile();
    int both = variant.d() + variant.dv();
    // scores, slopes, and dq or dk and dv
    int summed = variant.isOfQueries() ? variant.d() : both;
    double scores = (double) tile.rows() * variant.width();
    double multiplied = machine.peakTensorCycles(scores * (both + summed), variant.type());
    double weighed =
        Math.max(
            machine.specialCycles(scores),
            machine.issueCycles(SCORE_INSTRUCTIONS * scores / KernelBuilder.WARP));
    // each warpgroup reads tiles twice, and its rows
    double read =
        machine.sharedCycles(
            tile.groups()
                * ((double) variant.width() * (both + summed) + WarpgroupTile.ROWS * both)
                * variant.dtype().bytes());
    double tiles = tiles(variant);
    double own = tile.rows() * (both * (double) variant.dtype().bytes() + ofRow(variant));
    return new BlockWork(
        tile.threads(),
        REGISTERS.get(tile.groups() - 2),
        variant.sharedBytes(),
        tiles * Math.max(read, multiplied + APART * weighed),
        // the first rows, and the first scores
        machine.latency() + weighed,
        tiles * variant.stageBytes() + own,
        (tile.stages() - 1.0) * variant.stageBytes());
  }

  /** Returns the average number of tiles of columns of a block. */
  private double tiles(WarpgroupBackwardVariant variant) {
    int columns = variant.isOfQueries() ? p.keys() : p.queries();
    int heads = variant.isOfQueries() ? 1 : p.heads() / p.sharedHeads();
    int all = Math.ceilDiv(columns, variant.width()) * heads;
    if (!p.score().hides()) {
      return all;
    }
    double seen = p.pairs() / ((double) matrices(variant) * rows(variant) * variant.width());
    // half of the block's rows, and half of the last tile, see less than the last row
    double ragged = (variant.tile().rows() / 2.0 / variant.width() + 0.5) * heads;
    return Math.min(all, seen + ragged);
  }

  private Step step(WarpgroupBackwardVariant variant) {
    var tile = variant.tile();
    boolean isOfQueries = variant.isOfQueries();
    var ofQueries = isOfQueries ? variant.rows() : variant.columns();
    var ofGrads = isOfQueries ? variant.secondRows() : variant.secondColumns();
    var ofKeys = isOfQueries ? variant.columns() : variant.rows();
    var ofValues = isOfQueries ? variant.secondColumns() : variant.secondRows();
    var lse = Slot.input("lse");
    var delta = new Slot.Workspace(0);
    var arguments =
        p.score()
            .arguments(p.scale(), p.cap(), p.window())
            .with("q", ofQueries(Slot.input("q"), ofQueries, p.d()))
            .with("grad", ofQueries(Slot.input("grad"), ofGrads, p.dv()))
            .with("k", ofKeys(Slot.input("k"), ofKeys, p.d()))
            .with("v", ofKeys(Slot.input("v"), ofValues, p.dv()))
            .with("lse", isOfQueries ? lse : statistic(lse, variant))
            .with("delta", isOfQueries ? delta : statistic(delta, variant))
            .with("queries", p.queries())
            .with("keys", p.keys())
            .with("group", p.heads() / p.sharedHeads())
            .with("d", p.d())
            .with("dv", p.dv())
            .with("scale", (float) p.scale());
    if (isOfQueries) {
      arguments = arguments.with("first", ofQueries(Slot.output("dq"), variant.rows(), p.d()));
    } else {
      arguments =
          arguments
              .with("first", ofKeys(Slot.output("dk"), variant.rows(), p.d()))
              .with("second", ofKeys(Slot.output("dv"), variant.secondRows(), p.dv()));
    }
    if (p.score().hides()) {
      arguments = arguments.with("columns", Slot.input(isOfQueries ? "k" : "q"));
      if (!isOfQueries) {
        arguments = arguments.with("secondColumns", Slot.input("grad"));
      }
    }
    return new Step(
        variant,
        Dim3.of(Math.toIntExact(blocks(variant))),
        tile.threads(),
        variant.sharedBytes(),
        arguments);
  }

  private Slot ofQueries(Slot first, Panels panels, int columns) {
    long matrices = (long) p.batch() * p.heads();
    return new Slot.Tensor(first, panels.tensor(p.queries(), columns, matrices));
  }

  private Slot ofKeys(Slot first, Panels panels, int columns) {
    long matrices = (long) p.batch() * p.sharedHeads();
    return new Slot.Tensor(first, panels.tensor(p.keys(), columns, matrices));
  }

  /** Returns lse or delta of the queries of all heads, one after another. */
  private Slot statistic(Slot first, WarpgroupBackwardVariant variant) {
    long queries = (long) p.batch() * p.heads() * p.queries();
    return new Slot.Tensor(
        first, TensorMap.of(Element.F32, List.of(queries), List.of(), List.of(variant.width())));
  }
}
