package dev.athanor.ops.expression;

import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** The ops that compute expressions: {@code map}, and those named for their expression. */
public final class ExpressionOps {

  private static final Set<DType> ALL = MapOp.DTYPES;
  private static final Set<DType> BOOL = EnumSet.of(DType.BOOL);
  private static final Set<DType> NUMBERS = without(ALL, DType.BOOL);
  private static final Set<DType> FLOATS = EnumSet.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** The dtypes for which f32 suffices. */
  private static final Set<DType> SINGLE = without(FLOATS, DType.F64);

  private static final String PROMOTED = "promoted as in map";

  private ExpressionOps() {}

  private static Set<DType> without(Set<DType> dtypes, DType excluded) {
    return dtypes.stream()
        .filter(dtype -> dtype != excluded)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** Returns all of them. */
  // spotless:off
  public static List<Op> all() {
    return List.of(
        MapOp.map(),
        of("sub", "a b", NUMBERS, PROMOTED, "x0 - x1"),
        of("div", "a b", NUMBERS, "float, promoted as in map", "x0 / x1"),
        of("pow", "a b", SINGLE, PROMOTED, "x0 ** x1"),
        of("maximum", "a b", NUMBERS, PROMOTED, "max(x0, x1)"),
        of("minimum", "a b", NUMBERS, PROMOTED, "min(x0, x1)"),
        of("mod", "a b", NUMBERS, PROMOTED, "x0 % x1"),
        of("exp", "x", SINGLE, "same as x", "exp(x0)"),
        of("log", "x", SINGLE, "same as x", "log(x0)"),
        of("sqrt", "x", FLOATS, "same as x", "sqrt(x0)"),
        of("rsqrt", "x", FLOATS, "same as x", "rsqrt(x0)"),
        of("abs", "x", NUMBERS, "same as x", "abs(x0)"),
        of("neg", "x", NUMBERS, "same as x", "-x0"),
        of("sign", "x", NUMBERS, "same as x", "sign(x0)"),
        of("floor", "x", NUMBERS, "same as x", "floor(x0)"),
        of("ceil", "x", NUMBERS, "same as x", "ceil(x0)"),
        of("round", "x", NUMBERS, "same as x", "round(x0)"),
        of("sin", "x", SINGLE, "same as x", "sin(x0)"),
        of("cos", "x", SINGLE, "same as x", "cos(x0)"),
        of("erf", "x", SINGLE, "same as x", "erf(x0)"),
        of("softplus", "x", SINGLE, "same as x", "softplus(x0)"),
        of("elu", "x", SINGLE, "same as x", "where(x0 > 0, x0, c0 * expm1(x0))", number("alpha", 1)),
        of("leaky-relu", "x", FLOATS, "same as x", "where(x0 > 0, x0, c0 * x0)", number("alpha", 0.01)),
        of("hard-swish", "x", FLOATS, "same as x", "x0 * clamp(x0 / 6 + 0.5, 0, 1)"),
        of("hard-sigmoid", "x", FLOATS, "same as x", "clamp(c0 * x0 + c1, 0, 1)", number("alpha", 1.0 / 6), number("beta", 0.5)),
        of("mish", "x", SINGLE, "same as x", "x0 * tanh(softplus(x0))"),
        of("clamp", "x", NUMBERS, PROMOTED, "clamp(x0, c0, c1)", required("min"), required("max")),
        of("where", "condition a b", ALL, PROMOTED, "where(x0, x1, x2)"),
        of("equal", "a b", ALL, "bool", "x0 == x1"),
        of("not-equal", "a b", ALL, "bool", "x0 != x1"),
        of("less", "a b", ALL, "bool", "x0 < x1"),
        of("less-equal", "a b", ALL, "bool", "x0 <= x1"),
        of("greater", "a b", ALL, "bool", "x0 > x1"),
        of("greater-equal", "a b", ALL, "bool", "x0 >= x1"),
        of("and", "a b", ALL, "bool", "x0 && x1"),
        of("or", "a b", ALL, "bool", "x0 || x1"),
        of("xor", "a b", BOOL, "bool", "x0 ^ x1"),
        of("not", "x", ALL, "bool", "!x0"),
        of("reciprocal", "x", FLOATS, "same as x", "1 / x0"),
        of("square", "x", NUMBERS, "same as x", "x0 * x0"));
  }
  // spotless:on

  private static Attribute number(String name, double value) {
    return Attribute.number(name, value, "the number %s of the expression".formatted(name));
  }

  private static Attribute required(String name) {
    return Attribute.number(name, "the number %s of the expression".formatted(name)).asRequired();
  }

  /**
   * Returns the op of an expression.
   *
   * @param names of the inputs x0, x1, …, separated by blanks; {@code condition} is bool
   * @param result dtype of the result, in words
   * @param attributes c0, c1, …
   */
  private static MapOp of(
      String name,
      String names,
      Set<DType> dtypes,
      String result,
      String expression,
      Attribute... attributes) {
    var inputs = new ArrayList<Input>();
    for (var input : names.split(" ", -1)) {
      boolean isCondition = input.equals("condition");
      inputs.add(
          new Input(input, "[…]", isCondition ? BOOL : dtypes, false, "the operand " + input));
    }
    var formula = expression;
    for (int i = 0; i < inputs.size(); i++) {
      formula = formula.replace("x" + i, inputs.get(i).name());
    }
    for (int i = 0; i < attributes.length; i++) {
      formula = formula.replace("c" + i, attributes[i].name());
    }
    return new MapOp(
        new OpDescription(
            name,
            "Computes %s, element by element%s."
                .formatted(formula, inputs.size() > 1 ? ", with NumPy broadcasting" : ""),
            inputs,
            List.of(attributes),
            List.of(Output.of("y", "[…]", result, "the result")),
            "y = %s, as in map".formatted(formula),
            "the operators and functions of the expression, per element"),
        Optional.of(expression));
  }
}
