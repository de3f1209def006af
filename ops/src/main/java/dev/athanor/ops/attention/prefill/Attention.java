package dev.athanor.ops.attention.prefill;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.attention.FlashPlanner;
import dev.athanor.ops.attention.FlashTask;
import dev.athanor.ops.attention.FlashTask.Pages;
import dev.athanor.ops.attention.FlashVariant.Store;
import dev.athanor.ops.attention.Mask;
import dev.athanor.ops.attention.warpgroup.WarpgroupPlanner;
import dev.athanor.ops.move.Neutral;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/** Attention of queries to keys, without materializing the score matrix. */
public final class Attention implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "attention",
          "Computes scaled dot-product attention, in one pass over the keys.",
          List.of(
              new Input(
                  "q",
                  "[B, Hq, Sq, D] or [B, Sq, D] or [Sq, D]",
                  AttentionProblem.DTYPES,
                  false,
                  "queries; without Hq, of a single head; D is at most 576"),
              new Input(
                      "k",
                      "[B, Hkv, Sk, D] or [B, Sk, D] or [Sk, D]",
                      AttentionProblem.DTYPES,
                      false,
                      "keys; head h of q attends to head h / (Hq / Hkv) of k and v")
                  .like("q"),
              new Input(
                      "v",
                      "[B, Hkv, Sk, Dv] or [B, Sk, Dv] or [Sk, Dv]",
                      AttentionProblem.DTYPES,
                      false,
                      "values; Dv is at most 576")
                  .like("q"),
              new Input(Mask.NAME, "[…m, Sm, Sk]", Mask.DTYPES, true, Mask.MEANING)
                  .like("q", DType.F32, DType.BOOL)),
          attributes(),
          List.of(
              Output.of(
                  "out",
                  "[B, Hq, Sq, Dv] or [B, Sq, Dv] or [Sq, Dv]",
                  "same as q",
                  "the attention output; zeros for a query that attends to no key"),
              Output.of(
                      "lse",
                      "[B, Hq, Sq] or [B, Sq] or [Sq]",
                      "f32",
                      "log-sum-exp of the scores; -infinity for a query that attends to no key")
                  .when("withLse", "true")),
          "out = softmax(score(scale · q·kᵀ) + mask)·v, accumulated in f32, where score is the"
              + " softcap; masked keys"
              + " and their values never affect the result, whatever they contain",
          "2·B·Hq·Sq·Sk·(D + Dv), counting only unmasked query-key pairs");

  private static List<Attribute> attributes() {
    var all = new ArrayList<>(AttentionProblem.attributes());
    all.add(Attribute.flag("withLse", "whether to return lse"));
    return all;
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var outputs = BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
    AttentionProblem.of(inputs, attributes);
    return outputs;
  }

  /** Without keys, a query attends to a value of 0; its log-sum-exp is undefined. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    boolean undefined =
        AttentionProblem.input(inputs, "q").shape().extent(-1) == 0
            || (attributes.flag("withLse")
                && AttentionProblem.input(inputs, "k").shape().extent(-2) == 0);
    return undefined
        ? SampledOp.super.plansWithoutElements(inputs, attributes, capability)
        : Neutral.plans(this, inputs, attributes, 0, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var outputs = BoundInputs.of(DESCRIPTION, inputs, attributes).outputs();
    var p = AttentionProblem.of(inputs, attributes);
    boolean withLse = attributes.flag("withLse");
    var task =
        new FlashTask(
            p.dtype(),
            p.batch(),
            p.heads(),
            p.heads() / p.sharedHeads(),
            p.queries(),
            p.queries(),
            p.keys(),
            p.d(),
            p.dv(),
            p.score(),
            p.scale(),
            p.cap(),
            p.window(),
            p.pairs() / ((double) p.batch() * p.heads() * p.queries()),
            withLse,
            Store.DENSE,
            "k",
            "v",
            Pages.NONE,
            p.mask());
    var cost = Plan.Cost.of(2 * p.pairs() * (p.d() + p.dv()), inputs, outputs);
    return FlashPlanner.plans(
        "attention",
        task,
        outputs,
        cost,
        capability,
        candidates -> WarpgroupPlanner.offer(task, candidates, capability));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var outputs = AttentionReference.forward(inputs, attributes);
    return attributes.flag("withLse")
        ? outputs
        : Map.of("out", Objects.requireNonNull(outputs.get("out")));
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return AttentionCases.forward(random, quick);
  }
}
