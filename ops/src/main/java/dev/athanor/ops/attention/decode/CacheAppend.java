package dev.athanor.ops.attention.decode;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.attention.AttentionProblem;
import dev.athanor.ops.attention.AttentionReference;
import dev.athanor.ops.move.UpdateOp;
import dev.athanor.ops.move.UpdateVariant.Placement;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * Appends keys or values to the cache that {@link AttentionDecode} reads. It is an op of its own
 * since both caches of a layer need it and other ops read caches too.
 */
public final class CacheAppend implements SampledOp {

  private static final String CACHE = "cache";
  private static final String LENGTHS = "lengths";
  private static final String TABLE = "blockTable";

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "cache-append",
          "Appends the newest keys or values of each sequence to a contiguous or paged cache.",
          List.of(
              new Input(
                  CACHE,
                  "[B, H, Smax, D] or [N, H, blockSize, D] with blockTable",
                  UpdateOp.DTYPES,
                  false,
                  "the cache to change, or its blocks"),
              new Input(
                      "x",
                      "[B, H, S, D]",
                      UpdateOp.DTYPES,
                      false,
                      "the keys or values at the last S positions of each sequence")
                  .like(CACHE),
              new Input(
                  LENGTHS,
                  "[B]",
                  Set.of(DType.I32),
                  false,
                  "number of keys of each sequence, including those of x, as in attention-decode;"
                      + " clamped to 0 … Smax (maxBlocks · blockSize with blockTable). Elements of"
                      + " x before position 0 are not written"),
              new Input(
                  TABLE,
                  "[B, maxBlocks]",
                  Set.of(DType.I32),
                  true,
                  "block indices of each sequence, in order; clamped to 0 … N − 1. Sequences must"
                      + " not append to the same block")),
          List.of(),
          List.of(
              Output.of(
                  "y",
                  "[B, H, Smax, D] or [N, H, blockSize, D] with blockTable",
                  "same as cache",
                  "the cache with x in it. Written into the tensor cache, only x is copied")),
          "y = cache, except y[b, h, lengths[b] − S + i, :] = x[b, h, i, :]; with blockTable, position"
              + " p of sequence b is at y[blockTable[b, ⌊p / blockSize⌋], h, p mod blockSize, :]",
          "0");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public boolean mayReplace(String input) {
    return input.equals(CACHE);
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return bound(inputs, attributes).outputs();
  }

  private static BoundInputs bound(Map<String, TensorType> inputs, Attributes attributes) {
    var bound = BoundInputs.of(DESCRIPTION, inputs, attributes);
    long capacity = capacity(bound);
    if (bound.extent("S") > capacity) {
      throw new OpException.ShapeMismatch(
          "x",
          "x has shape %s, but a sequence of the cache has at most %d positions; append at most that many"
              .formatted(bound.type("x").shape(), capacity));
    }
    return bound;
  }

  private static long capacity(BoundInputs bound) {
    if (!bound.has(TABLE)) {
      return bound.extent("Smax");
    }
    long capacity = Math.multiplyExact(bound.extent("maxBlocks"), bound.extent("blockSize"));
    DecodeProblem.countable(TABLE, bound.type(TABLE), "maxBlocks · blockSize", capacity);
    return capacity;
  }

  /** Without elements to write, y is the cache. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return List.of(LaunchPlan.empty(outputs(inputs, attributes)).updating(CACHE, "y"));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var bound = bound(inputs, attributes);
    boolean paged = bound.has(TABLE);
    var arguments = Arguments.ofInputs("x").with("at", Slot.input(LENGTHS)).outputs("y");
    if (paged) {
      arguments =
          arguments
              .with("table", Slot.input(TABLE))
              .with("maxBlocks", (int) bound.extent("maxBlocks"))
              .with("blocks", AttentionProblem.extent(CACHE, bound.type(CACHE), 0));
    }
    return UpdateOp.plans(
            bound.type("x"),
            bound.type(CACHE),
            2,
            bound.type(LENGTHS),
            paged ? Placement.PAGED : Placement.ENDING,
            arguments,
            bound.outputs(),
            capability)
        .stream()
        .map(plan -> plan.updating(CACHE, "y"))
        .toList();
  }

  /** The elements of the cache, of which later positions replace earlier ones in the same place. */
  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var bound = bound(HostTensor.types(inputs), attributes);
    var cache = AttentionReference.tensor(inputs, CACHE);
    var x = AttentionReference.tensor(inputs, "x");
    long heads = bound.extent("H");
    long given = bound.extent("S");
    long d = bound.extent("D");
    long rows = cache.type().shape().extent(2);
    var written = new HashMap<Long, Long>();
    for (long b = 0; b < bound.extent("B"); b++) {
      long length =
          Math.clamp((long) AttentionReference.tensor(inputs, LENGTHS).get(b), 0, capacity(bound));
      for (long i = Math.max(0, given - length); i < given; i++) {
        long position = length - given + i;
        long block = b;
        if (bound.has(TABLE)) {
          var table = AttentionReference.tensor(inputs, TABLE);
          double entry = table.get(b * bound.extent("maxBlocks") + position / rows);
          block = Math.clamp((long) entry, 0, cache.type().shape().extent(0) - 1);
        }
        for (long h = 0; h < heads; h++) {
          written.put((block * heads + h) * rows + position % rows, (b * heads + h) * given + i);
        }
      }
    }
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            cache.type().shape().elements(),
            index -> {
              var from = written.get(index / d);
              return from == null ? cache.get(index) : x.get(from * d + index % d);
            }));
  }

  /** Draws full caches and a table without common blocks, if there are enough of them. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var bound = bound(inputs, attributes);
    var drawn = new HashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name,
            switch (name) {
              case LENGTHS -> draw.integers(bound.extent("S"), capacity(bound), type);
              case TABLE -> distinct(type);
              default -> draw.usual(type);
            }));
    return drawn;
  }

  private static HostTensor distinct(TensorType type) {
    var table = HostTensor.zeros(type);
    for (long i = 0; i < type.shape().elements(); i++) {
      type.dtype().writeLong(table.data(), i, i);
    }
    return table;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  /** Lengths that are drawn range from below 0 to beyond the capacity. */
  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var problems =
        quick
            ? List.of(
                "cache=f16[2,3,9,8] x=f16[2,3,1,8] lengths=i32[2]",
                "cache=f32[6,2,4,16] x=f32[2,2,3,16] lengths=i32[2] blockTable=i32[2,3]")
            : List.of(
                "cache=f16[2,3,9,8] x=f16[2,3,1,8] lengths=i32[2]",
                "cache=bf16[3,1,70,64] x=bf16[3,1,33,64] lengths=i32[3]",
                "cache=f32[1,2,5,3] x=f32[1,2,5,3] lengths=i32[1]",
                "cache=u8[4,2,9,1] x=u8[4,2,2,1] lengths=i32[4]",
                "cache=f32[6,2,4,16] x=f32[2,2,3,16] lengths=i32[2] blockTable=i32[2,3]",
                "cache=f16[40,8,16,128] x=f16[4,8,1,128] lengths=i32[4] blockTable=i32[4,10]",
                "cache=bf16[12,1,1,5] x=bf16[3,1,4,5] lengths=i32[3] blockTable=i32[3,4]",
                "cache=e4m3[12,2,16,64] x=e4m3[3,2,20,64] lengths=i32[3] blockTable=i32[3,4]");
    var cases = new ArrayList<Case>();
    for (var text : problems) {
      var problem = Problem.parse(this, text);
      var inputs = new HashMap<>(problem.draw(random));
      long capacity = capacity(bound(problem.inputs(), problem.attributes()));
      inputs.put(
          LENGTHS,
          draw.integers(-2, capacity + 3, AttentionProblem.input(problem.inputs(), LENGTHS)));
      cases.add(new Case(inputs, problem.attributes(), Map.of("y", Tolerance.exact())));
    }
    return cases;
  }
}
