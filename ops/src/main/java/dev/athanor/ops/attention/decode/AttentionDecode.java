package dev.athanor.ops.attention.decode;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.FlashPlanner;
import dev.athanor.ops.attention.FlashTask;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.attention.Mask;
import dev.athanor.ops.attention.warpgroup.WarpgroupPlanner;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Attention of the newest queries of each sequence to its cached keys. The heads of a few queries
 * that share a head of the cache are the rows of one tile, so that they read the cache once.
 */
public final class AttentionDecode implements SampledOp {

  static final OpDescription DESCRIPTION =
      new OpDescription(
          "attention-decode",
          "Computes attention of the newest queries of each sequence over a contiguous or paged"
              + " key/value cache.",
          List.of(
              new Input(
                  "q",
                  "[B, Hq, Sq, D]",
                  AttentionProblem.DTYPES,
                  false,
                  "the queries at the last Sq positions of each sequence, which attend to the keys"
                      + " up to their own positions; D is at most 576"),
              new Input(
                      "kCache",
                      "[B, Hkv, Smax, D] or [N, Hkv, blockSize, D] with blockTable",
                      AttentionProblem.DTYPES,
                      false,
                      "the key cache, or its blocks")
                  .like("q"),
              new Input(
                      "vCache",
                      "[B, Hkv, Smax, Dv] or [N, Hkv, blockSize, Dv] with blockTable",
                      AttentionProblem.DTYPES,
                      false,
                      "the value cache, or its blocks")
                  .like("q"),
              new Input(
                  "lengths",
                  "[B]",
                  Set.of(DType.I32),
                  false,
                  "number of keys of each sequence, including those of the queries; clamped to 0"
                      + " … Smax (maxBlocks · blockSize with blockTable)"),
              new Input(
                  "blockTable",
                  "[B, maxBlocks]",
                  Set.of(DType.I32),
                  true,
                  "block indices of each sequence, in order. Entries beyond its length are not"
                      + " read; the others are clamped to 0 … N − 1"),
              new Input(
                      Mask.NAME,
                      "[…m, Sm, K]",
                      Mask.DTYPES,
                      true,
                      Mask.MEANING + "; K is Smax, or maxBlocks · blockSize with blockTable")
                  .like("q", DType.F32, DType.BOOL)),
          List.of(
              AttentionProblem.scaleAttribute(),
              Attribute.integer(
                      "window",
                      0,
                      "sliding window size: each query attends only to the last window keys up to its"
                          + " position; 0 disables it")
                  .from(0, Integer.MAX_VALUE)),
          List.of(
              Output.of(
                  "out",
                  "[B, Hq, Sq, Dv]",
                  "same as q",
                  "the attention output; zeros for a query that attends to no key")),
          "out = softmax(scale · q·kᵀ + mask)·v over the keys up to each query, accumulated in f32; cache"
              + " entries beyond a sequence's length or before its window never affect the"
              + " result",
          "2·B·Hq·Sq·Smax·(D + Dv), counting only unmasked query-key pairs");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("out", DecodeProblem.of(inputs, attributes).out());
  }

  /** Without keys, a query attends to a value of 0. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    boolean undefined =
        AttentionProblem.input(inputs, "q").shape().extent(-1) == 0
            || inputs.containsKey("blockTable");
    return undefined
        ? SampledOp.super.plansWithoutElements(inputs, attributes, capability)
        : Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var p = DecodeProblem.of(inputs, attributes);
    int group = p.heads() / p.sharedHeads();
    // the heads of a single query are always packed
    boolean single = p.queries() == 1;
    var task =
        new FlashTask(
            p.dtype(),
            p.batch(),
            single ? p.sharedHeads() : p.heads(),
            single ? 1 : group,
            single ? group : p.queries(),
            p.queries(),
            p.capacity(),
            p.d(),
            p.dv(),
            p.score(),
            p.scale(),
            0,
            p.window(),
            p.visible(),
            false,
            p.paged() ? Store.PAGED : Store.CACHE,
            "kCache",
            "vCache",
            p.pages(),
            p.mask());
    var outputs = Map.of("out", p.out());
    double pairs = (double) p.batch() * p.heads() * p.queries() * p.visible();
    var cost = Plan.Cost.of(2 * pairs * (p.d() + p.dv()), inputs, outputs);
    return FlashPlanner.plans(
        "decoding attention",
        task,
        outputs,
        cost,
        capability,
        candidates -> WarpgroupPlanner.offer(task, candidates, capability));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    return Map.of("out", DecodeReference.decode(inputs, attributes));
  }

  /** Returns full caches, as the cost model assumes, with random block tables. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    int capacity = DecodeProblem.of(inputs, attributes).capacity();
    long blocks = AttentionProblem.input(inputs, "kCache").shape().extent(0);
    var drawn = new LinkedHashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name,
            switch (name) {
              case "lengths" -> draw.integers(capacity, capacity, type);
              case "blockTable" -> draw.integers(0, blocks - 1, type);
              default -> draw.usual(type);
            }));
    return drawn;
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return DecodeCases.of(random, quick);
  }
}
