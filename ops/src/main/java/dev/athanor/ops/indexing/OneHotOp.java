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
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.cost.Candidates;
import dev.athanor.ops.cost.Machine;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.map.ElementwiseSteps;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/** Encodes indices as one-hot vectors, as ONNX's OneHot does. */
final class OneHotOp implements SampledOp {

  private static final String VALUES = "values";
  private static final String DEPTH = "depth";

  /** Maximum number of elements of y: the kernel counts its threads in 32 bits. */
  private static final long MOST = Integer.MAX_VALUE - 1024;

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "one-hot",
          "Encodes indices as one-hot vectors.",
          List.of(
              new Input(
                  Indices.INDEX,
                  "[…]",
                  IndexingOps.INDEX_DTYPES,
                  false,
                  "positions of the on value, from −depth to depth − 1; negative ones count from"
                      + " the end. Any other index yields a vector of off values"),
              new Input(
                  VALUES,
                  "[2]",
                  ElementwiseOps.ELEMENTS,
                  false,
                  "the off value, then the on value")),
          List.of(
              Attribute.integer(DEPTH, "length of the vectors")
                  .from(1, Double.POSITIVE_INFINITY)
                  .asRequired(),
              Attribute.integer(
                  Indices.AXIS,
                  -1,
                  "dimension of y along which the vectors lie; negative values count from the end")),
          List.of(Output.of("y", "[…, depth, …]", "same as values", "the one-hot vectors")),
          "y[…, d, …] = values[1] if d = index[…, …] or d = index[…, …] + depth, or values[0]",
          "0");

  private static final List<DType> DTYPES =
      List.of(DType.F32, DType.U8, DType.I64, DType.F16, DType.BOOL, DType.F64, DType.I32);

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  /**
   * A checked call: y[outer, depth, inner].
   *
   * @param inner elements between two of a vector
   */
  private record Vectors(TensorType y, long depth, long inner) {

    /** Returns the position in the index of the vector of an element. */
    long position(long element) {
      return element / inner / depth * inner + element % inner;
    }

    long place(long element) {
      return element / inner % depth;
    }
  }

  private static Vectors check(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(DESCRIPTION, inputs, attributes);
    var index = call.type(Indices.INDEX).shape();
    int rank = index.rank() + 1;
    long given = attributes.integer(Indices.AXIS);
    if (given < -rank || given >= rank) {
      throw new OpException.InvalidAttribute(
          Indices.AXIS,
          "attribute \"axis\" is %d but index has shape %s; the dimensions of y are %d to %d"
              .formatted(given, index, -rank, rank - 1));
    }
    int axis = (int) (given < 0 ? given + rank : given);
    long depth = attributes.integer(DEPTH);
    var extents = new ArrayList<>(index.extents());
    extents.add(axis, depth);
    return new Vectors(
        Checks.output("y", call.dtype(VALUES), new Shape(extents)),
        depth,
        new Shape(index.extents().subList(axis, index.rank())).elements());
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", check(inputs, attributes).y);
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var vectors = check(inputs, attributes);
    var y = vectors.y;
    var index = Objects.requireNonNull(inputs.get(Indices.INDEX));
    int count = count(y);
    var variant = new OneHotVariant(ElementwiseSteps.ofSameSize(y.dtype()), index.dtype());
    var candidates = new Candidates("one-hot of " + y.dtype().text(), capability);
    var outputs = Map.of("y", y);
    var cost = Plan.Cost.of(0, inputs, outputs);
    candidates.offer(
        Machine.of(capability).streaming(cost.bytes()),
        "vectors of %d elements".formatted(vectors.depth),
        new Step(
            variant,
            Dim3.of(Math.ceilDiv(count, OneHotVariant.THREADS * OneHotVariant.DEPTH)),
            OneHotVariant.THREADS,
            0,
            Arguments.ofInputs(Indices.INDEX, VALUES)
                .outputs("y")
                .with("count", count)
                .with("depth", (int) vectors.depth)
                .with("inner", (int) vectors.inner)));
    return candidates.plans(outputs, cost);
  }

  private static int count(TensorType y) {
    long elements = y.shape().elements();
    if (elements > MOST) {
      throw new OpException.TooLarge(
          "y",
          "output \"y\" would have shape %s; the maximum is 2^31 - 1025 elements"
              .formatted(y.shape()));
    }
    return (int) elements;
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var vectors = check(HostTensor.types(inputs), attributes);
    var index = Objects.requireNonNull(inputs.get(Indices.INDEX));
    var values = Objects.requireNonNull(inputs.get(VALUES));
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            vectors.y.shape().elements(),
            i -> {
              long given = index.type().dtype().readLong(index.data(), vectors.position(i));
              long hot = given < 0 ? given + vectors.depth : given;
              return values.get(hot == vectors.place(i) ? 1 : 0);
            }));
  }

  @Override
  public Map<String, HostTensor> draw(
      Map<String, TensorType> inputs, Attributes attributes, Draw draw) {
    var index = Objects.requireNonNull(inputs.get(Indices.INDEX));
    var values = Objects.requireNonNull(inputs.get(VALUES));
    long most = Math.min(attributes.integer(DEPTH) - 1, Integer.MAX_VALUE);
    return Map.of(
        Indices.INDEX, draw.integers(0, most, index), VALUES, HostTensor.of(values, 0, 1));
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return IndexingCases.of(
        this,
        random,
        List.of(
            "index=#[] values=?[2] depth=5",
            "index=#[3,13] values=?[2] depth=7",
            "index=#[3,13] values=?[2] depth=9 axis=0",
            "index=#[2,3,20] values=?[2] depth=1 axis=-2",
            "index=#[2,3,20] values=?[2] depth=33 axis=1",
            "index=#[40] values=?[2] depth=128"),
        DTYPES,
        quick ? 1 : 3);
  }
}
