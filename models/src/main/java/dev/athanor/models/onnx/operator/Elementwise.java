package dev.athanor.models.onnx.operator;

import dev.athanor.models.graph.Value;
import dev.athanor.ops.DType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Operators that compute each element alone, by the op map. */
final class Elementwise {

  /** Expressions by operator, one of each line. */
  private static final String EXPRESSIONS =
      """
      Abs abs(x)
      Neg -x
      Ceil ceil(x)
      Floor floor(x)
      Round round(x)
      Sqrt sqrt(x)
      Exp exp(x)
      Log log(x)
      Sin sin(x)
      Cos cos(x)
      Tan tan(x)
      Tanh tanh(x)
      Asin asin(x)
      Acos acos(x)
      Atan atan(x)
      Sinh (exp(x) - exp(-x)) / 2
      Cosh (exp(x) + exp(-x)) / 2
      Asinh sign(x) * log(abs(x) + sqrt(x * x + 1))
      Acosh log(x + sqrt(x * x - 1))
      Atanh (log1p(x) - log1p(-x)) / 2
      Erf erf(x)
      Sigmoid sigmoid(x)
      Sign sign(x)
      Reciprocal 1 / x
      Relu relu(x)
      Softplus softplus(x)
      Softsign x / (1 + abs(x))
      Mish x * tanh(softplus(x))
      HardSwish x * clamp(x / 6 + 0.5, 0, 1)
      Not !x
      IsNaN isnan(x)
      BitwiseNot ~x
      Add x0 + x1
      Sub x0 - x1
      Mul x0 * x1
      Equal x0 == x1
      Greater x0 > x1
      GreaterOrEqual x0 >= x1
      Less x0 < x1
      LessOrEqual x0 <= x1
      And x0 && x1
      Or x0 || x1
      Xor x0 != x1
      BitwiseAnd x0 & x1
      BitwiseOr x0 | x1
      BitwiseXor x0 ^ x1
      Where where(x0, x1, x2)
      PRelu where(x0 < 0, x0 * x1, x0)
      """;

  static final Map<String, Operator> OPERATORS = new HashMap<>();

  /** An attribute and its default. */
  private record Parameter(String name, double otherwise) {}

  static {
    EXPRESSIONS
        .lines()
        .forEach(line -> {
          var parts = line.split(" ", 2);
          single(parts[0], node -> node.map(parts[1], all(node)));
        });
    single("Identity", node -> node.x(0));
    single("Max", node -> folded(node, "max"));
    single("Min", node -> folded(node, "min"));
    single("Sum", node -> folded(node, "+"));
    single(
        "Mean", node -> node.map("x / c0", null, List.of(node.inputs().size()), folded(node, "+")));
    single("Div", Elementwise::divide);
    single("Mod", Elementwise::modulo);
    single("Pow", node -> node.map("f32(x0) ** f32(x1)", node.x(0).dtype(), List.of(), all(node)));
    single("Clip", Elementwise::clip);
    single(
        "BitShift",
        node ->
            node.map(
                node.text("direction", "").equals("LEFT") ? "x0 << x1" : "x0 >> x1", all(node)));
    single("IsInf", Elementwise::isInfinite);
    single(
        "Gelu",
        node ->
            node.one(
                "gelu",
                Map.of("form", node.text("approximate", "none").equals("tanh") ? "tanh" : "erf"),
                node.x(0)));
    parametric("Elu", "where(x > 0, x, c0 * expm1(x))", new Parameter("alpha", 1));
    parametric("Celu", "max(x, 0) + min(c0 * expm1(x / c0), 0)", new Parameter("alpha", 1));
    parametric(
        "Selu",
        "c1 * where(x > 0, x, c0 * expm1(x))",
        new Parameter("alpha", 1.67326319),
        new Parameter("gamma", 1.05070102));
    parametric("LeakyRelu", "where(x > 0, x, c0 * x)", new Parameter("alpha", 0.01));
    parametric(
        "HardSigmoid",
        "clamp(c0 * x + c1, 0, 1)",
        new Parameter("alpha", 0.2),
        new Parameter("beta", 0.5));
    parametric("ThresholdedRelu", "where(x > c0, x, 0)", new Parameter("alpha", 1));
    parametric(
        "Shrink",
        "where(x < -c0, x + c1, where(x > c0, x - c1, 0))",
        new Parameter("lambd", 0.5),
        new Parameter("bias", 0));
    parametric("Swish", "x * sigmoid(c0 * x)", new Parameter("alpha", 1));
    parametric("Binarizer", "where(x > c0, 1.0, 0.0)", new Parameter("threshold", 0));
    single("SwiGLU", Elementwise::gate);
    single("Range", Elementwise::range);
    single("HannWindow", node -> window(node, "sin(x * c0 / 2) * sin(x * c0 / 2)"));
    single("HammingWindow", node -> window(node, "25 / 46 - 21 / 46 * cos(x * c0)"));
    single(
        "BlackmanWindow",
        node -> window(node, "0.42 - 0.5 * cos(x * c0) + 0.08 * cos(2 * x * c0)"));
  }

  private Elementwise() {}

  private static void single(String name, Operator.Single operator) {
    OPERATORS.put(name, Operator.of(operator));
  }

  private static void parametric(String name, String expression, Parameter... parameters) {
    single(
        name,
        node -> {
          var constants = new ArrayList<Double>();
          for (var parameter : parameters) {
            constants.add(node.number(parameter.name, parameter.otherwise));
          }
          return node.map(expression, null, constants, node.x(0));
        });
  }

  static Value[] all(Node node) {
    return node.inputs().toArray(Value[]::new);
  }

  /** Applies a function of two operands to all inputs. */
  private static Value folded(Node node, String function) {
    var expression =
        IntStream.range(0, node.inputs().size())
            .mapToObj(i -> "x" + i)
            .reduce((a, b) ->
                function.equals("+")
                    ? "(%s + %s)".formatted(a, b)
                    : "%s(%s, %s)".formatted(function, a, b))
            .orElseThrow();
    return node.map(expression, all(node));
  }

  private static Value divide(Node node) {
    return node.x(0).dtype().isFloat()
        ? node.map("x0 / x1", all(node))
        : node.map(
            "where((x0 < 0) != (x1 < 0), -(abs(x0) // abs(x1)), abs(x0) // abs(x1))",
            node.x(0).dtype(),
            List.of(),
            all(node));
  }

  private static Value modulo(Node node) {
    return node.flag("fmod", false)
        ? node.map(
            "where(x0 < 0, -(abs(x0) % abs(x1)), abs(x0) % abs(x1))",
            node.x(0).dtype(), List.of(), all(node))
        : node.map("x0 % x1", all(node));
  }

  private static Value clip(Node node) {
    if (node.has("min") || node.has("max")) { // up to version 6
      var bounds =
          List.of(node.number("min", -Float.MAX_VALUE), node.number("max", Float.MAX_VALUE));
      return node.map("clamp(x, c0, c1)", null, bounds, node.x(0));
    }
    var low = node.input(1).map(least -> node.map("max(x0, x1)", node.x(0), least));
    var y = low.orElse(node.x(0));
    return node.input(2).map(most -> node.map("min(x0, x1)", y, most)).orElse(y);
  }

  private static Value isInfinite(Node node) {
    boolean positive = node.flag("detect_positive", true);
    boolean negative = node.flag("detect_negative", true);
    var sign = positive == negative ? "" : positive ? " && x > 0" : " && x < 0";
    return node.map((positive || negative ? "isinf(x)" : "x != x && x == x") + sign, node.x(0));
  }

  private static Value gate(Node node) {
    double alpha = node.number("alpha", 1);
    return alpha == 1
        ? node.one("swiglu", Map.of(), all(node))
        : node.map("x0 * sigmoid(c0 * x0) * x1", null, List.of(alpha), all(node));
  }

  private static Value range(Node node) {
    double start = number(node, 0);
    double limit = number(node, 1);
    double delta = number(node, 2);
    var count = Math.max(0, (long) Math.ceil((limit - start) / delta));
    return node.map(
        "x1 + x0 * x2", node.x(0).dtype(), List.of(), node.range(count), node.x(0), node.x(2));
  }

  private static double number(Node node, int input) {
    return node.numbersOf(input).orElseThrow()[0];
  }

  private static Value window(Node node, String expression) {
    long size = (long) number(node, 0);
    long width = node.flag("periodic", true) ? size : size - 1;
    @Nullable DType dtype = node.dtype("output_datatype", DType.F32);
    return node.map(
        expression, dtype, List.of(2 * Math.PI / width), node.cast(node.range(size), DType.F32));
  }
}
