package dev.athanor.ops.move;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.LaunchPlan;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Problem;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.move.Region.Range;
import dev.athanor.ops.move.UpdateVariant.Placement;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/**
 * Copies a tensor into a part of another, as ONNX's TensorScatter does. The position is a tensor on
 * the device, so that appending to a cache plans nothing anew.
 */
public final class UpdateOp implements SampledOp {

  /** The dtypes of elements that are copied. */
  public static final Set<DType> DTYPES = ElementwiseOps.ELEMENTS;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "copy",
          "Copies a tensor into a part of another, such as new keys into a cache.",
          List.of(
              new Input("into", "[…a]", DTYPES, false, "the tensor to change"),
              new Input(
                      "x",
                      "[…b]",
                      DTYPES,
                      false,
                      "the elements to write; as many dimensions as into, none longer")
                  .like("into"),
              new Input(
                  "at",
                  "[] or [B]",
                  Set.of(DType.I32, DType.I64),
                  true,
                  "position of x in dimension axis, one for all or one for each index of the first"
                      + " dimension; x and into then differ in dimension axis only. Negative"
                      + " positions write nothing")),
          List.of(
              Attribute.integer(
                  "axis", 0, "dimension that at refers to; negative values count from the end"),
              Attribute.choice(
                  "mode",
                  "linear",
                  List.of("linear", "circular"),
                  "whether elements beyond the end of dimension axis are left out or go to its"
                      + " beginning"),
              Attribute.integers(
                      "offsets", "without at: position of x in each dimension; default zeros")
                  .from(0, Double.POSITIVE_INFINITY)),
          List.of(
              Output.of(
                  "y",
                  "[…a]",
                  "same as into",
                  "into with x in the place of a part. Written into the tensor into, it changes only"
                      + " that part")),
          "y = into, except y[…, p + i, …] = x[…, i, …], where p = at[b] or p = at",
          "0");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public boolean mayReplace(String input) {
    return input.equals("into");
  }

  /** A valid call. */
  private record Call(TensorType into, TensorType x, int axis, List<Long> offsets) {

    static Call of(BoundInputs inputs, Attributes attributes) {
      var into = inputs.type("into");
      var x = inputs.type("x");
      var to = into.shape();
      var from = x.shape();
      if (from.rank() != to.rank()
          || IntStream.range(0, to.rank()).anyMatch(i -> from.extent(i) > to.extent(i))) {
        throw new OpException.ShapeMismatch(
            "x",
            "into has shape %s but x has %s; x must have as many dimensions, none of them longer"
                .formatted(to, from));
      }
      return inputs.has("at")
          ? atPosition(inputs, attributes)
          : new Call(into, x, 0, offsets(attributes, to, from));
    }

    private static Call atPosition(BoundInputs inputs, Attributes attributes) {
      var into = inputs.type("into");
      var x = inputs.type("x");
      var to = into.shape();
      var from = x.shape();
      int axis = Checks.axis(attributes, "axis", "into", to);
      if (IntStream.range(0, to.rank())
          .anyMatch(i -> i != axis && from.extent(i) != to.extent(i))) {
        throw new OpException.ShapeMismatch(
            "x",
            "into has shape %s but x has %s; with at, they must have equal extents except in dimension %d"
                .formatted(to, from, axis));
      }
      var at = inputs.type("at").shape();
      if (at.rank() == 1 && (axis == 0 || at.extent(0) != to.extent(0))) {
        throw new OpException.ShapeMismatch(
            "at",
            axis == 0
                ? "at has shape %s, but attribute \"axis\" is 0; give one position, of shape []"
                    .formatted(at)
                : "into has shape %s but at has %s; give one position, or one for each index of the first dimension of into"
                    .formatted(to, at));
      }
      if (attributes.has("offsets")) {
        throw new OpException.InvalidAttribute(
            "offsets",
            "attribute \"offsets\" is %s, but input \"at\" is given; give only one of them"
                .formatted(attributes.integers("offsets")));
      }
      return new Call(into, x, axis, List.of());
    }

    private static List<Long> offsets(Attributes attributes, Shape into, Shape x) {
      if (!attributes.has("offsets")) {
        return Collections.nCopies(into.rank(), 0L);
      }
      Checks.requireLength(attributes, "offsets", into.rank(), "dimension of into");
      var offsets = attributes.integers("offsets");
      for (int i = 0; i < into.rank(); i++) {
        if (offsets.get(i) > into.extent(i) - x.extent(i)) {
          throw new OpException.InvalidAttribute(
              "offsets",
              "attribute \"offsets\" is %s, so that x of shape %s would end beyond into of shape %s; the offset in dimension %d is at most %d"
                  .formatted(offsets, x, into, i, into.extent(i) - x.extent(i)));
        }
      }
      return offsets;
    }
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var bound = BoundInputs.of(DESCRIPTION, inputs, attributes);
    Call.of(bound, attributes);
    return bound.outputs();
  }

  /** Without elements to write, y is into. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return List.of(LaunchPlan.empty(outputs(inputs, attributes)).updating("into", "y"));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var bound = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var call = Call.of(bound, attributes);
    var plans =
        bound.has("at")
            ? atPosition(bound, call, attributes.choice("mode").equals("circular"), capability)
            : atOffsets(bound, call, capability);
    return plans.stream().map(plan -> plan.updating("into", "y")).toList();
  }

  private static List<LaunchPlan> atOffsets(BoundInputs inputs, Call call, Capability capability) {
    var x = call.x.shape();
    var ranges =
        IntStream.range(0, x.rank())
            .mapToObj(i -> new Range(x.extent(i), 0, 1, call.offsets.get(i)))
            .toList();
    var region = Region.of(Slot.input("x"), x, "y", call.into.shape(), ranges);
    return new CopyPlanner(
            DESCRIPTION.name(), Map.of("x", call.x), inputs.outputs(), List.of(region))
        .plans(capability);
  }

  private static List<LaunchPlan> atPosition(
      BoundInputs inputs, Call call, boolean circular, Capability capability) {
    return plans(
        call.x,
        call.into,
        call.axis,
        inputs.type("at"),
        circular ? Placement.CIRCULAR : Placement.LINEAR,
        Arguments.ofInputs("x", "at").outputs("y"),
        inputs.outputs(),
        capability);
  }

  /**
   * Returns plans that copy rows to positions on the device.
   *
   * @param into the tensor to change, with the extents of x except in dimension {@code axis} and,
   *     if it is paged, the first
   * @param at one position, or one for each index of the first dimension of x
   * @param tensors the arguments of the kernel except extents of x, y and a slice
   */
  public static List<LaunchPlan> plans(
      TensorType x,
      TensorType into,
      int axis,
      TensorType at,
      Placement placement,
      Arguments tensors,
      Map<String, TensorType> outputs,
      Capability capability) {
    var shape = x.shape();
    long given = shape.extent(axis);
    long rows = product(shape, 0, axis + 1);
    long rowBytes = product(shape, axis + 1, shape.rank()) * x.dtype().bytes();
    var variant =
        new UpdateVariant((int) Math.min(16, Long.lowestOneBit(rowBytes)), at.dtype(), placement);
    long perRow = rowBytes / variant.access();
    Checks.count("into", into.shape(), product(into.shape(), 0, axis + 1));
    long slices = at.shape().rank() == 0 ? rows / given : rows / given / shape.extent(0);
    int accesses = Checks.count("x", shape, rows * perRow * Math.max(1, variant.access() / 4));
    var step =
        new Step(
            variant,
            Dim3.of(Math.ceilDiv(accesses, UpdateVariant.THREADS * UpdateVariant.DEPTH)),
            UpdateVariant.THREADS,
            0,
            tensors
                .with("rows", (int) rows)
                .with("perRow", (int) perRow)
                .with("rowsOfX", (int) given)
                .with("rowsOfY", (int) into.shape().extent(axis))
                .with("slices", (int) slices));
    var cost = new Plan.Cost(0, at.bytes() + 2.0 * x.bytes());
    var candidates = new Candidates("copy of " + x.dtype().text(), capability);
    candidates.offer(
        variant.name(),
        Machine.of(capability).streaming(1, cost.bytes()),
        "%d rows of %d accesses each".formatted(rows, perRow),
        List.of(step),
        0);
    return candidates.plans(outputs, cost);
  }

  private static long product(Shape shape, int from, int to) {
    long product = 1;
    for (int i = from; i < to; i++) {
      product *= shape.extent(i);
    }
    return product;
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var call =
        Call.of(BoundInputs.of(DESCRIPTION, HostTensor.types(inputs), attributes), attributes);
    var tensors = new CopyOp.Tensors(inputs);
    var at = inputs.get("at");
    boolean circular = attributes.choice("mode").equals("circular");
    var shape = call.into.shape();
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            shape.elements(),
            index -> {
              var here = CopyOp.indices(shape, index);
              var from = here.clone();
              for (int i = 0; i < from.length; i++) {
                from[i] -= call.offsets.isEmpty() ? 0 : call.offsets.get(i);
              }
              boolean written = true;
              if (at != null) {
                long position =
                    at.type()
                        .dtype()
                        .readLong(at.data(), at.type().shape().rank() == 0 ? 0 : here[0]);
                long distance = here[call.axis] - position;
                from[call.axis] =
                    circular ? Math.floorMod(distance, shape.extent(call.axis)) : distance;
                written = position >= 0;
              }
              for (int i = 0; i < from.length; i++) {
                written &= from[i] >= 0 && from[i] < call.x.shape().extent(i);
              }
              return written ? tensors.get("x", from) : tensors.get("into", here);
            }));
  }

  /** Draws positions at which x fits. */
  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var call = Call.of(BoundInputs.of(DESCRIPTION, inputs, attributes), attributes);
    var drawn = new HashMap<String, HostTensor>();
    inputs.forEach((name, type) ->
        drawn.put(
            name,
            name.equals("at")
                ? draw.integers(
                    0, call.into.shape().extent(call.axis) - call.x.shape().extent(call.axis), type)
                : draw.usual(type)));
    return drawn;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  /** Positions that are drawn range from before the beginning to beyond the end. */
  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var problems =
        quick
            ? List.of(
                "into=f16[2,3,9,8] x=f16[2,3,1,8] at=i32[2] axis=2",
                "into=f32[5,7] x=f32[2,3] offsets=3,4")
            : List.of(
                "into=f16[2,3,9,8] x=f16[2,3,1,8] at=i32[2] axis=2",
                "into=bf16[2,3,9,64] x=bf16[2,3,4,64] at=i64[2] axis=-2 mode=circular",
                "into=f32[40,3] x=f32[6,3] at=i64[]",
                "into=f32[40,3] x=f32[40,3] at=i32[] mode=circular",
                "into=u8[3,50] x=u8[3,7] at=i32[3] axis=1",
                "into=i64[3,50] x=i64[3,1] at=i64[3] axis=1 mode=circular",
                "into=f64[1000,100] x=f64[33,100] at=i32[]",
                "into=bool[2,33] x=bool[2,5] at=i64[] axis=1",
                "into=e4m3[7,16] x=e4m3[3,16] at=i32[]",
                "into=f32[5,7] x=f32[2,3] offsets=3,4",
                "into=f16[4,6,64] x=f16[4,1,64] offsets=0,2,0",
                "into=i8[9] x=i8[4]",
                "into=f32[] x=f32[]");
    var cases = new ArrayList<Case>();
    for (var text : problems) {
      var problem = Problem.parse(this, text);
      var inputs = new HashMap<>(problem.draw(random));
      var at = problem.inputs().get("at");
      if (at != null) {
        inputs.put("at", draw.integers(-2, 50, at));
      }
      cases.add(new Case(inputs, problem.attributes(), Map.of("y", Tolerance.exact())));
    }
    return cases;
  }
}
