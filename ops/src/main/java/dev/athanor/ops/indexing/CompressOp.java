package dev.athanor.ops.indexing;

import dev.athanor.engine.device.Capability;
import dev.athanor.engine.device.Dim3;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
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
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;

/**
 * Selects slices by a condition, as ONNX's Compress does. One launch writes the indices of the
 * selected slices, another gathers them.
 */
final class CompressOp implements SampledOp {

  private static final String CONDITION = "condition";
  private static final String Y = "y";
  private static final String COUNT = "count";

  /** Maximum number of elements of the condition, so that the kernel computes in 32 bits. */
  private static final long MOST = 1L << 30;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "compress",
          "Selects the slices along a dimension for which a condition is true.",
          List.of(
              new Input(Indices.X, "[…, N, …]", ElementwiseOps.ELEMENTS, false, "the input tensor"),
              new Input(
                  CONDITION,
                  "[M]",
                  Set.of(DType.BOOL),
                  false,
                  "whether each slice is selected; M is at most N, and slices from M on are not"
                      + " selected")),
          List.of(
              Attribute.integer(
                  Indices.AXIS,
                  0,
                  "dimension of x whose slices are selected; negative values count from the end")),
          List.of(
              Output.of(
                  Y,
                  "[…, N, …]",
                  "same as x",
                  "the selected slices in order, then slices of zeros"),
              Output.of(COUNT, "[]", "i64", "the number of selected slices")),
          "y[i, n, j] = x[i, p[n], j] for n < count, or 0, where p are the indices of the true"
              + " elements of condition in order; NumPy and ONNX return only the first count slices",
          "0");

  private static final List<DType> DTYPES =
      List.of(DType.F16, DType.F32, DType.U8, DType.I64, DType.BOOL, DType.BF16, DType.F64);

  /** The types of checked inputs. */
  private record Call(TensorType x, TensorType condition, int axis) {

    static Call of(Map<String, TensorType> inputs, Attributes attributes) {
      var x = Objects.requireNonNull(inputs.get(Indices.X));
      var condition = Objects.requireNonNull(inputs.get(CONDITION));
      int axis = Checks.axis(attributes, Indices.AXIS, Indices.X, x.shape());
      var shape = condition.shape();
      if (shape.rank() != 1 || shape.extent(0) > x.shape().extent(axis)) {
        throw new OpException.ShapeMismatch(
            CONDITION,
            "condition has shape %s but x has %s; condition must be [M] with M at most %d, the extent of x in dimension %d"
                .formatted(shape, x.shape(), x.shape().extent(axis), axis));
      }
      if (shape.extent(0) > MOST) {
        throw new OpException.TooLarge(
            CONDITION, "condition has shape %s; the maximum is 2^30 elements".formatted(shape));
      }
      return new Call(x, condition, axis);
    }

    int extent() {
      return Checks.count(Indices.X, x.shape(), x.shape().extent(axis));
    }

    Map<String, TensorType> outputs() {
      return Map.of(Y, x, COUNT, TensorType.of(DType.I64));
    }
  }

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Call.of(inputs, attributes).outputs();
  }

  /** Counts the selected slices also if x or the condition has no elements. */
  @Override
  public List<? extends Plan> plansWithoutElements(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    return plans(inputs, attributes, capability);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var call = Call.of(inputs, attributes);
    int extent = call.extent();
    var indices = new Slot.Workspace(0);
    var steps = new ArrayList<Step>();
    steps.add(
        new Step(
            new SelectVariant(),
            Dim3.of(1),
            SelectVariant.THREADS,
            0,
            Arguments.ofInputs(CONDITION)
                .outputs(COUNT)
                .with("index", indices)
                .with("given", (int) call.condition.shape().extent(0))
                .with("extent", extent)));
    if (!call.x.isEmpty()) {
      steps.add(
          new GatherPlanner(Indices.X, call.x, Lookup.along(call.x.shape(), call.axis, extent))
              .step(Indices.X, call.x, indices, DType.I32));
    }
    var outputs = call.outputs();
    var cost = Plan.Cost.of(0, inputs, outputs);
    var name = steps.getLast().variant().name();
    var candidates = new Candidates("compress of " + call.x.dtype().text(), capability);
    long workspace = Math.max(1, extent) * (long) Integer.BYTES;
    candidates.offer(
        name,
        Machine.of(capability).streaming(steps.size(), cost.bytes() + 2.0 * workspace),
        "a prefix sum of %s and a copy".formatted(call.condition.shape()),
        steps,
        workspace);
    return candidates.plans(outputs, cost);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var call = Call.of(HostTensor.types(inputs), attributes);
    var x = Objects.requireNonNull(inputs.get(Indices.X));
    var condition = Objects.requireNonNull(inputs.get(CONDITION));
    var selected =
        LongStream.range(0, call.condition.shape().extent(0))
            .filter(i -> condition.get(i) != 0)
            .toArray();
    var shape = call.x.shape();
    long extent = call.extent();
    long width = new Shape(shape.extents().subList(call.axis + 1, shape.rank())).elements();
    return Map.of(
        Y,
        ReferenceOutput.ofElements(
            shape.elements(),
            i -> {
              long slice = i / width;
              long place = slice % extent;
              return place < selected.length
                  ? x.get((slice - place + selected[(int) place]) * width + i % width)
                  : 0;
            }),
        COUNT,
        ReferenceOutput.ofElements(1, _ -> selected.length));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  /** The conditions select about half of the slices, then all or none. */
  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    for (var text :
        List.of(
            "x=?[13] condition=bool[13]",
            "x=?[40,7] condition=bool[33]",
            "x=?[3,20,64] condition=bool[20] axis=1",
            "x=?[1,1,1] condition=bool[1] axis=-1",
            "x=?[5,9,2,3] condition=bool[9] axis=-3",
            "x=?[2,70] condition=bool[70] axis=1",
            "x=?[20000] condition=bool[19999]")) {
      for (int i = 0; i < (quick ? 1 : 3); i++) {
        var dtype = DTYPES.get(cases.size() % DTYPES.size());
        var problem = Problem.parse(this, text.replace("?", dtype.text()));
        var inputs = problem.inputs();
        var x = Objects.requireNonNull(inputs.get(Indices.X));
        var condition = Objects.requireNonNull(inputs.get(CONDITION));
        cases.add(
            new Case(
                Map.of(
                    Indices.X,
                    IndexingCases.elements(draw, x),
                    CONDITION,
                    draw.integers(i == 1 ? 1 : 0, i == 2 ? 0 : 1, condition)),
                problem.attributes(),
                Map.of(Y, Tolerance.exact(), COUNT, Tolerance.exact())));
      }
    }
    return cases;
  }
}
