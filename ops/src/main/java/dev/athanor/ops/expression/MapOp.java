package dev.athanor.ops.expression;

import dev.athanor.engine.device.Capability;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.Plan;
import dev.athanor.ops.Rows;
import dev.athanor.ops.Shape;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tolerance;
import dev.athanor.ops.map.ElementwiseOps;
import dev.athanor.ops.problem.Broadcast;
import dev.athanor.ops.problem.Checks;
import dev.athanor.ops.reference.ReferenceOutput;
import dev.athanor.ops.reference.SampledOp;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * An op that computes an expression of its inputs, element by element.
 *
 * @param expression of x0, x1, …, the inputs in the order of the description, and c0, c1, …, its
 *     number attributes in that order; empty for the attributes {@link #EXPRESSION} and {@link
 *     #CONSTANTS}
 */
record MapOp(OpDescription description, Optional<String> expression) implements SampledOp {

  static final String EXPRESSION = "expression";
  static final String CONSTANTS = "constants";
  static final String OUT_DTYPE = "outDtype";

  /**
   * The dtypes of inputs, results and casts: those of numbers of at least 16 bits, and integers.
   */
  static final Set<DType> DTYPES =
      ElementwiseOps.ELEMENTS.stream()
          .filter(dtype -> dtype != DType.E4M3 && dtype != DType.E5M2)
          .collect(Collectors.toUnmodifiableSet());

  private static final int MAX_INPUTS = 16;
  private static final double ABOUT_ONE = 1 + 1.0 / 128;

  /** Returns the op whose expression is an attribute. */
  static MapOp map() {
    return new MapOp(
        new OpDescription(
            "map",
            "Computes an expression of its inputs, element by element, in one pass.",
            Input.list(
                "x", 1, MAX_INPUTS, "[…]", DTYPES, "the operands, which broadcast as in NumPy"),
            List.of(
                Attribute.text(
                        EXPRESSION,
                        "the expression, at most 4,096 characters; for example where(x > 0, x, c0 * (exp(x) - 1))")
                    .asRequired(),
                Attribute.numbers(CONSTANTS, "values of c0, c1, …; other values reuse the kernel"),
                Attribute.choice(
                    OUT_DTYPE,
                    "",
                    DTYPES.stream().sorted().map(DType::text).toList(),
                    "dtype of y; default: that of the expression")),
            List.of(Output.of("y", "[…]", OUT_DTYPE, "the result")),
            LANGUAGE,
            "the operators and functions of the expression, per element"),
        Optional.empty());
  }

  private static final String LANGUAGE =
      String.join(
          "\n",
          "operators, from low to high precedence: ||   &&   == != < <= > >=   | ^ &   << >>   + -   * / // %   - ! ~   **",
          "operands: x0, x1, … (x is x0), c0, c1, …, numbers, true, false, inf, nan, pi",
          "functions: " + String.join(", ", Function.names()),
          "casts: dtypes, such as i32(x)",
          "dtypes: float wins over integer over bool, then the wider; numbers and constants adapt to the other operand",
          "f16 and bf16 are computed in f32 and rounded at the end; f64 has no exp, log, pow, sin and the like",
          "integers wrap; // and % round down, and give 0 for the divisor 0; shifts by the width or more, or by less than 0, give 0 or the sign");

  private List<String> names(Map<String, ?> inputs) {
    return description.inputs().stream().map(Input::name).filter(inputs::containsKey).toList();
  }

  private <T> List<T> inOrder(Map<String, T> inputs) {
    return description.inputs().stream()
        .flatMap(input -> Stream.ofNullable(inputs.get(input.name())))
        .toList();
  }

  /** Returns the compiled expression of a call. */
  Expression compile(List<TensorType> operands, Attributes attributes) {
    var dtypes = operands.stream().map(TensorType::dtype).toList();
    if (expression.isPresent()) {
      return Expression.of(expression.get(), dtypes, numbers(attributes), Optional.empty());
    }
    var constants =
        attributes.numbers(CONSTANTS).stream()
            .map(value -> new Expression.Constant(CONSTANTS, value))
            .toList();
    return Expression.of(
        attributes.text(EXPRESSION), dtypes, constants, DType.of(attributes.choice(OUT_DTYPE)));
  }

  private List<Expression.Constant> numbers(Attributes attributes) {
    var constants = new ArrayList<Expression.Constant>();
    for (var attribute : description.attributes()) {
      constants.add(new Expression.Constant(attribute.name(), attributes.number(attribute.name())));
    }
    return constants;
  }

  @Override
  public Optional<Rows> rows(Map<String, TensorType> inputs, Attributes attributes) {
    var shapes = inputs.values().stream().map(TensorType::shape).distinct().toList();
    return shapes.size() > 1 || shapes.getFirst().rank() == 0
        ? Optional.empty()
        : Optional.of(new Rows(inputs.keySet(), true));
  }

  /**
   * An input of the output's type has its shape and is not broadcast, so each thread reads the
   * elements that it writes, of the same size.
   */
  @Override
  public boolean mayReplace(String input) {
    return true;
  }

  @Override
  public Map<String, TensorType> outputs(Map<String, TensorType> inputs, Attributes attributes) {
    return Map.of("y", output(inputs, compile(inOrder(inputs), attributes)));
  }

  @Override
  public List<? extends Plan> plans(
      Map<String, TensorType> inputs, Attributes attributes, Capability capability) {
    var operands = inOrder(inputs);
    var compiled = compile(operands, attributes);
    var output = output(inputs, compiled);
    double operations = (double) compiled.program().operations() * output.shape().elements();
    return new MapPlanner(
            description.name(),
            compiled,
            names(inputs),
            operands.stream().map(TensorType::shape).toList(),
            output)
        .plans(Plan.Cost.of(operations, inputs, Map.of("y", output)), capability);
  }

  private TensorType output(Map<String, TensorType> inputs, Expression compiled) {
    var shapes = inOrder(inputs).stream().map(TensorType::shape).toList();
    return Checks.output("y", compiled.program().output(), Broadcast.shape(names(inputs), shapes));
  }

  @Override
  public Map<String, ReferenceOutput> referenceOutputs(
      Map<String, HostTensor> inputs, Attributes attributes) {
    var types = HostTensor.types(inputs);
    var compiled = compile(inOrder(types), attributes);
    var output = output(types, compiled);
    var operands = inOrder(inputs);
    return Map.of(
        "y",
        ReferenceOutput.ofElements(
            output.shape().elements(), i -> reference(compiled, operands, i, output)));
  }

  private static double reference(
      Expression compiled, List<HostTensor> operands, long element, TensorType output) {
    var numbers = operands.stream().map(x -> number(x, element, output.shape())).toList();
    double value = Evaluator.evaluate(compiled.program(), compiled.literals(), numbers).toReal();
    return output.dtype().isFloat() && Math.abs(value) >= output.dtype().overflow()
        ? Math.copySign(Double.POSITIVE_INFINITY, value)
        : value;
  }

  /** Returns the broadcast operand's number for an element of the result. */
  private static ScalarValue number(HostTensor operand, long element, Shape result) {
    long index = Broadcast.index(operand.type().shape(), element, result);
    var dtype = operand.type().dtype();
    return dtype.isFloat()
        ? ScalarValue.of(operand.get(index))
        : ScalarValue.of(dtype.readLong(operand.data(), index));
  }

  /** One rounding of f16 and bf16; if f32 is computed, that of its functions. */
  @Override
  public Tolerance tolerance(
      String output, DType dtype, Map<String, TensorType> inputs, Attributes attributes) {
    return switch (dtype) {
      case F64 ->
          Tolerance.maximum(
              compile(inOrder(inputs), attributes).program().isDouble() ? 1e-14 : 1e-6);
      case F32 -> Tolerance.maximum(1e-6);
      case F16, BF16 -> Tolerance.roundings(ABOUT_ONE, dtype);
      default -> Tolerance.exact();
    };
  }

  @Override
  public List<Case> cases(RandomGenerator random, boolean quick) {
    return new MapCases(this, random, quick).all();
  }
}
