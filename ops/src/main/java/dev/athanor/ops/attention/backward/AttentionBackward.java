package dev.athanor.ops.attention.backward;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.RowCopy;
import dev.athanor.ops.attention.Tile;
import dev.athanor.ops.attention.TileWork;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/** The gradients of attention with respect to queries, keys and values. */
public final class AttentionBackward implements SampledOp {

  /** The maximum number of columns of q and of v. */
  private static final int MAX_COLUMNS = 256;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "attention-backward",
          "Computes the gradients of attention with respect to q, k and v; repeated runs"
              + " are bitwise identical.",
          List.of(
              input(
                      "grad",
                      "[B, Hq, Sq, Dv] or [B, Sq, Dv] or [Sq, Dv]",
                      "the gradient with respect to out")
                  .like("q"),
              input(
                  "q",
                  "[B, Hq, Sq, D] or [B, Sq, D] or [Sq, D]",
                  "the queries passed to attention"),
              input("k", "[B, Hkv, Sk, D] or [B, Sk, D] or [Sk, D]", "the keys passed to attention")
                  .like("q"),
              input(
                      "v",
                      "[B, Hkv, Sk, Dv] or [B, Sk, Dv] or [Sk, Dv]",
                      "the values passed to attention")
                  .like("q"),
              input("out", "[B, Hq, Sq, Dv] or [B, Sq, Dv] or [Sq, Dv]", "the output of attention")
                  .like("q"),
              new Input(
                  "lse",
                  "[B, Hq, Sq] or [B, Sq] or [Sq]",
                  Set.of(DType.F32),
                  false,
                  "the log-sum-exp returned by attention")),
          AttentionProblem.attributes(),
          List.of(
              Output.of(
                  "dq",
                  "[B, Hq, Sq, D] or [B, Sq, D] or [Sq, D]",
                  "same as q",
                  "the gradient with respect to q"),
              Output.of(
                  "dk",
                  "[B, Hkv, Sk, D] or [B, Sk, D] or [Sk, D]",
                  "same as q",
                  "the gradient with respect to k"),
              Output.of(
                  "dv",
                  "[B, Hkv, Sk, Dv] or [B, Sk, Dv] or [Sk, Dv]",
                  "same as q",
                  "the gradient with respect to v")),
          "with s = score(scale · q·kᵀ), p = min(1, exp(s − lse)) and ds = p∘(grad·vᵀ − Σ grad∘out)∘s′:"
              + " dq = scale·ds·k, dk = scale·dsᵀ·q, dv = pᵀ·grad",
          "2·B·Hq·Sq·Sk·(3·D + 2·Dv), counting only unmasked query-key pairs");

  private static Input input(String name, String shape, String meaning) {
    return new Input(name, shape, AttentionProblem.DTYPES, false, meaning);
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var outputs = BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
    for (var name : List.of("q", "v")) {
      AttentionProblem.columns(name, AttentionProblem.input(inputs, name), MAX_COLUMNS);
    }
    AttentionProblem.of(inputs, attributes);
    return outputs;
  }

  /** Without queries or keys, the gradients that have elements are 0. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    boolean undefined = AttentionProblem.input(inputs, "q").shape().extent(-1) == 0;
    return undefined
        ? SampledOp.super.plansWithoutElements(inputs, attributes, capability)
        : Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var outputs = outputs(inputs, attributes);
    var p = AttentionProblem.of(inputs, attributes);
    var candidates = new Candidates("gradient of attention of " + p.dtype().text(), capability);
    long rows = (long) p.batch() * p.heads() * p.queries();
    double ofDelta = Machine.of(capability).streaming(2.0 * rows * p.dv() * p.dtype().bytes());
    for (var tile : tiles(Tile.Unit.of(p.dtype(), capability), p)) {
      var queries = variant(BackwardVariant.Of.QUERIES, tile, p);
      var keys = variant(BackwardVariant.Of.KEYS, tile, p);
      var name = keys.name();
      long blocks = blocks(p.queries(), tile) * p.batch() * p.heads();
      long keyBlocks = blocks(p.keys(), tile) * p.batch() * p.sharedHeads() * keys.parts();
      if (Math.max(Math.max(blocks, keyBlocks), rows) > Integer.MAX_VALUE) {
        candidates.refuse(
            name, "requires %d blocks; the limit is 2^31 - 1".formatted(Math.max(blocks, rows)));
        continue;
      }
      double microseconds =
          ofDelta
              + microseconds(p, queries, blocks, capability)
              + microseconds(p, keys, keyBlocks, capability);
      candidates.offer(
          name,
          microseconds,
          "%d blocks for dq and %d for dk and dv, of %d rows"
              .formatted(blocks, keyBlocks, tile.rows()),
          List.of(
              delta(p, rows),
              step(p, queries, (int) blocks, "dq"),
              step(p, keys, (int) keyBlocks, "dk")),
          4 * rows);
    }
    WarpgroupBackwardPlanner.offer(p, delta(p, rows), ofDelta, 4 * rows, candidates, capability);
    double flops = 2 * p.pairs() * (3.0 * p.d() + 2.0 * p.dv());
    return candidates.plans(outputs, Plan.Cost.of(flops, inputs, outputs));
  }

  /** Returns the estimated time of the launch for dq, or for dk and dv. */
  private static double microseconds(
      AttentionProblem p, BackwardVariant variant, long blocks, Capability capability) {
    var tile = variant.tile();
    boolean ofQueries = variant.of() == BackwardVariant.Of.QUERIES;
    // scores, gradients of weights, and dq or dk and dv
    int depth = 2 * variant.d() + (ofQueries ? 1 : 2) * variant.dv();
    var machine = Machine.of(capability);
    var work =
        new TileWork(
            machine, tile, p.dtype(), variant.d(), variant.dv(), depth, variant.sharedBytes());
    double tiles = p.pairs() / ((double) blocks * tile.rows() * tile.columns());
    double ofRow = (p.d() + p.dv()) * (double) p.dtype().bytes();
    double rows =
        p.batch() * ((double) p.heads() * p.queries() + (double) p.sharedHeads() * p.keys());
    return machine.microseconds(
        blocks, work.over(Math.max(1, tiles), 2 * tile.rows() * ofRow), 2 * rows * ofRow);
  }

  private static List<Tile> tiles(Tile.Unit unit, AttentionProblem p) {
    int columns = Math.max(p.d(), p.dv());
    if (unit == Tile.Unit.FMA) {
      return columns <= 64
          ? List.of(new Tile(unit, 64, 32, 8), new Tile(unit, 32, 32, 4))
          : columns <= 128
              ? List.of(new Tile(unit, 32, 32, 4), new Tile(unit, 16, 16, 4))
              : List.of(new Tile(unit, 16, 16, 2));
    }
    int across = columns <= 64 ? 64 : columns <= 128 ? 32 : 16;
    return List.of(new Tile(unit, 64, across, 16), new Tile(unit, 32, across, 16));
  }

  private static long blocks(int rows, Tile tile) {
    return Math.ceilDiv(rows, tile.rows());
  }

  private static BackwardVariant variant(BackwardVariant.Of of, Tile tile, AttentionProblem p) {
    int most = Math.max(p.d(), p.dv());
    return new BackwardVariant(
        of,
        tile,
        p.dtype(),
        BackwardVariant.padded(p.d(), most),
        BackwardVariant.padded(p.dv(), most),
        RowCopy.access((long) p.d() * p.dtype().bytes()),
        RowCopy.access((long) p.dv() * p.dtype().bytes()),
        p.score());
  }

  private static Step delta(AttentionProblem p, long rows) {
    var variant = new DeltaVariant(p.dtype(), RowCopy.access((long) p.dv() * p.dtype().bytes()));
    return new Step(
        variant,
        Dim3.of((int) Math.ceilDiv(rows, DeltaVariant.QUERIES)),
        DeltaVariant.THREADS,
        0,
        Arguments.ofInputs("grad", "out")
            .with("delta", new Slot.Workspace(0))
            .with("queries", (int) rows)
            .with("dv", p.dv()));
  }

  private static Step step(AttentionProblem p, BackwardVariant variant, int blocks, String first) {
    return new Step(
        variant,
        Dim3.of(blocks),
        variant.tile().threads(),
        variant.sharedBytes(),
        Arguments.ofInputs("q", "k", "v", "grad", "lse")
            .with("delta", new Slot.Workspace(0))
            .with("first", Slot.output(first))
            .with("second", Slot.output("dv"))
            .with("queries", p.queries())
            .with("keys", p.keys())
            .with("batches", p.batch())
            .with("heads", p.heads())
            .with("group", p.heads() / p.sharedHeads())
            .with("d", p.d())
            .with("dv", p.dv())
            .with("scale", (float) p.scale())
            .with(p.score().arguments(p.scale(), p.cap(), p.window())));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return AttentionReference.backward(inputs, attributes);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return BackwardCases.backward(random, quick);
  }

  /** Returns the tolerance of a gradient relative to its float64 reference. */
  static Tolerance tolerance(DType dtype) {
    return Tolerance.relative(dtype == DType.F32 ? 1e-4 : 1e-2);
  }
}
