package dev.athanor.ops.move;

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
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.map.Loops.Loop;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.random.RandomGenerator;

/**
 * Swaps two dimensions. If the last dimension stays the last, its rows are copied; otherwise tiles
 * are transposed in shared memory.
 */
public final class TransposeOp implements SampledOp {

  private static final OpDescription DESCRIPTION =
      new OpDescription(
          "transpose",
          "Swaps two dimensions of a tensor.",
          List.of(
              new Input(
                  "x", "[…, P, …, Q, …]", ElementwiseOps.ELEMENTS, false, "the input tensor")),
          List.of(
              Attribute.integer(
                  "axisA",
                  -2,
                  "first dimension to swap; negative values count from the end. The defaults"
                      + " swap the last two dimensions; NumPy and ONNX reverse all dimensions by default"),
              Attribute.integer("axisB", -1, "second dimension to swap")),
          List.of(Output.of("y", "[…, Q, …, P, …]", "same as x", "the transposed tensor")),
          "y[…, q, …, p, …] = x[…, p, …, q, …], bit for bit",
          "0");

  @Override
  public OpDescription description() {
    return DESCRIPTION;
  }

  /** Returns for each dimension of y the dimension of x. */
  private static List<Integer> order(Shape shape, Attributes attributes) {
    int a = Checks.axis(attributes, "axisA", "x", shape);
    int b = Checks.axis(attributes, "axisB", "x", shape);
    var order = new ArrayList<Integer>();
    for (int i = 0; i < shape.rank(); i++) {
      order.add(i == a ? b : i == b ? a : i);
    }
    return order;
  }

  private static Shape shape(Shape x, List<Integer> order) {
    return new Shape(order.stream().map(x::extent).toList());
  }

  /** Returns the loops over y, with the strides of x. */
  private static List<Loop> loops(Shape x, List<Integer> order) {
    var strides = Region.strides(x);
    return order.stream().map(i -> new Loop(x.extent(i), List.of(strides[i]))).toList();
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    var x = Objects.requireNonNull(inputs.get("x"));
    return Map.of(
        "y", Checks.output("y", x.dtype(), shape(x.shape(), order(x.shape(), attributes))));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var order = order(x.shape(), attributes);
    var output = Checks.output("y", x.dtype(), shape(x.shape(), order));
    var region = Region.dense("x", "y", loops(x.shape(), order));
    return new CopyPlanner("transpose", inputs, Map.of("y", output), List.of(region))
        .plans(capability);
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    long elements = Objects.requireNonNull(inputs.get("x")).type().shape().elements();
    return Map.of(
        "y", new ReferenceOutput(elements, indices -> sample(inputs, attributes, indices)));
  }

  private static double[] sample(
      Map<String, HostTensor> inputs, Attributes attributes, long[] elements) {
    var x = Objects.requireNonNull(inputs.get("x"));
    var shape = x.type().shape();
    var order = order(shape, attributes);
    var y = new double[elements.length];
    for (int i = 0; i < y.length; i++) {
      var at = new long[shape.rank()];
      long rest = elements[i];
      for (int axis = at.length - 1; axis >= 0; axis--) {
        long extent = shape.extent(order.get(axis));
        at[order.get(axis)] = rest % extent;
        rest /= extent;
      }
      long index = 0;
      for (int axis = 0; axis < at.length; axis++) {
        index = index * shape.extent(axis) + at[axis];
      }
      y[i] = x.get(index);
    }
    return y;
  }

  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return Tolerance.exact();
  }

  /** A shape and the dimensions to swap. */
  private record Problem(int axisA, int axisB, Shape shape) {
    static Problem of(int axisA, int axisB, long... extents) {
      return new Problem(axisA, axisB, Shape.of(extents));
    }
  }

  private static final List<Problem> PROBLEMS =
      List.of(
          Problem.of(-2, -1, 64, 64),
          Problem.of(-2, -1, 17, 33),
          Problem.of(-2, -1, 100, 24),
          Problem.of(-2, -1, 1, 13),
          Problem.of(-2, -1, 2, 65, 127),
          Problem.of(0, 2, 5, 6, 7),
          Problem.of(1, 3, 2, 16, 3, 48),
          Problem.of(1, 2, 2, 3, 5, 16),
          Problem.of(-3, -2, 4, 31, 7),
          Problem.of(1, 1, 3, 4),
          Problem.of(0, 3, 3, 1, 2, 9));

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    var draw = new Draw(random);
    var cases = new ArrayList<Case>();
    var dtypes =
        quick
            ? List.of(DType.F16, DType.F64)
            : List.of(DType.U8, DType.F16, DType.F32, DType.I64, DType.E4M3, DType.BOOL);
    for (var dtype : dtypes) {
      for (var problem : quick ? PROBLEMS.subList(1, 4) : PROBLEMS) {
        var type = new TensorType(dtype, problem.shape);
        var given = Map.of("axisA", problem.axisA, "axisB", problem.axisB);
        // as many distinct numbers as the dtype allows
        var x =
            dtype == DType.BOOL
                ? draw.integers(0, 1, type)
                : dtype.isFloat() ? draw.normal(0, 1, type) : draw.integers(0, 255, type);
        cases.add(
            new Case(
                Map.of("x", x), Attributes.of(DESCRIPTION, given), Map.of("y", Tolerance.exact())));
      }
    }
    return cases;
  }
}
