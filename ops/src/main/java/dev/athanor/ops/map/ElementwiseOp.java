package dev.athanor.ops.map;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Activation;
import dev.athanor.ops.Arguments;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.Step.Slot;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.map.Formula.Combination;
import dev.athanor.ops.problem.BoundInputs;
import dev.athanor.ops.problem.Broadcast;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;

/**
 * An op that computes each element of its result from one element of each input.
 *
 * @param formula returns the formula for the attributes of a call
 * @param broadcasts whether the inputs broadcast as in NumPy; otherwise, their shapes are as
 *     described
 * @param flops floating-point operations per element
 */
record ElementwiseOp(
    OpDescription description, Function<Attributes, Formula> formula, boolean broadcasts, int flops)
    implements SampledOp {

  /** The attribute of a factor; the formula then has one operand more than the op has inputs. */
  static final String FACTOR = "factor";

  /** The attribute of the dtype of the result, for ops that change the dtype. */
  static final String TO = "to";

  private static final double ABOUT_ONE = 1 + 1.0 / 128;

  private List<String> names() {
    return description.inputs().stream().map(Input::name).toList();
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    var shape = inputs.values().iterator().next().shape();
    for (var type : inputs.values()) {
      if (!type.shape().equals(shape)) {
        return Optional.empty();
      }
    }
    return shape.rank() == 0 ? Optional.empty() : Optional.of(new Rows(inputs.keySet(), true));
  }

  /**
   * An input with the output's shape is not broadcast, so each thread reads the elements that it
   * writes.
   */
  @Override
  public boolean mayReplace(String input) {
    return true;
  }

  private <T> List<T> inOrder(Map<String, T> inputs) {
    return names().stream().map(name -> Objects.requireNonNull(inputs.get(name), name)).toList();
  }

  private TensorType output(Map<String, TensorType> inputs, Attributes attributes) {
    var call = BoundInputs.of(description, inputs, attributes);
    var in = call.dtype(names().getFirst());
    var out = casts() ? target(attributes) : in;
    return Checks.output("y", out, shape(inOrder(inputs)));
  }

  private static DType target(Attributes attributes) {
    return DType.of(attributes.choice(TO)).orElseThrow();
  }

  /** Returns whether the last operand is an attribute. */
  boolean hasFactor() {
    return description.attribute(FACTOR).isPresent();
  }

  private boolean casts() {
    return description.attribute(TO).isPresent();
  }

  private Conversion conversion(DType in, DType out, Attributes attributes) {
    return casts() ? Conversion.of(attributes, in, out) : Conversion.usual(out);
  }

  private Shape shape(List<TensorType> operands) {
    var shapes = operands.stream().map(TensorType::shape).toList();
    return broadcasts ? Broadcast.shape(names(), shapes) : shapes.getFirst();
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", output(inputs, attributes));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var operands = inOrder(inputs);
    var output = output(inputs, attributes);
    var in = operands.getFirst().dtype();
    var constants =
        hasFactor() ? Arguments.NONE.with(FACTOR, factor(in, attributes)) : Arguments.NONE;
    return new ElementwisePlanner(
            description.name(),
            formula.apply(attributes),
            Loops.broadcast(output.shape(), operands.stream().map(TensorType::shape).toList()),
            names(),
            in,
            operands.getLast().dtype(),
            output,
            conversion(in, output.dtype(), attributes),
            constants)
        .plans(
            Plan.Cost.of((double) flops * output.shape().elements(), inputs, Map.of("y", output)),
            capability);
  }

  private static Slot factor(DType in, Attributes attributes) {
    return in == DType.F64
        ? Slot.of(attributes.number(FACTOR))
        : Slot.of(Checks.single(attributes, FACTOR));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    long elements = output(HostTensor.types(inputs), attributes).shape().elements();
    return Map.of(
        "y", new ReferenceOutput(elements, indices -> sample(inputs, attributes, indices)));
  }

  private double[] sample(Map<String, HostTensor> inputs, Attributes attributes, long[] elements) {
    var operands = inOrder(inputs);
    var output = output(HostTensor.types(inputs), attributes);
    var in = operands.getFirst().type().dtype();
    if (casts()) {
      var conversion = conversion(in, output.dtype(), attributes);
      return LongStream.of(elements)
          .mapToDouble(i -> cast(operands.getFirst(), i, output.dtype(), conversion))
          .toArray();
    }
    var function = formula.apply(attributes);
    double factor = hasFactor() ? attributes.number(FACTOR) : 0;
    double rounded = in == DType.F64 ? factor : (float) factor;
    var y = new double[elements.length];
    for (int i = 0; i < y.length; i++) {
      double a = repeated(operands.getFirst(), elements[i], output.shape());
      double b =
          operands.size() > 1 ? repeated(operands.getLast(), elements[i], output.shape()) : rounded;
      y[i] = finite(output.dtype(), function.apply(a, b));
    }
    return y;
  }

  private static double cast(HostTensor x, long index, DType to, Conversion conversion) {
    return x.type().dtype() == DType.I64
        ? Rounding.round(to, DType.I64.readLong(x.data(), index), conversion)
        : Rounding.round(to, x.get(index), conversion);
  }

  /** Replaces numbers beyond the finite range of a dtype by infinities. */
  private static double finite(DType dtype, double value) {
    return Math.abs(value) >= dtype.overflow()
        ? Math.copySign(Double.POSITIVE_INFINITY, value)
        : value;
  }

  private static double repeated(HostTensor operand, long element, Shape result) {
    return operand.get(Broadcast.index(operand.type().shape(), element, result));
  }

  /** About one rounding of the exact value: the error of f32 arithmetic is much smaller. */
  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    if (casts()) {
      return Tolerance.exact();
    }
    var applied = formula.apply(attributes);
    var activation = applied.activation();
    if (applied.combination() == Combination.GRADIENT && dtype != DType.F32) {
      // near its roots, a derivative has the absolute error of f32 arithmetic
      return Tolerance.maximum(ABOUT_ONE * dtype.spacing(1) / 2);
    }
    boolean once = activation == Activation.NONE || activation == Activation.RELU;
    return dtype == DType.F32 && !once
        ? Tolerance.maximum(1e-6)
        : Tolerance.roundings(once && !hasFactor() ? 1 : ABOUT_ONE, dtype);
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return casts()
        ? new CastCases(description, random, quick).all()
        : new ElementwiseCases(this, random, quick).all();
  }
}
