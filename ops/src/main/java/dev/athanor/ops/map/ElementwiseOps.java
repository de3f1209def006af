package dev.athanor.ops.map;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.map.Formula.Combination;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The elementwise ops. */
public final class ElementwiseOps {

  /** The dtypes computed in f32. */
  private static final Set<DType> SINGLE = EnumSet.of(DType.F32, DType.F16, DType.BF16);

  /** The dtypes computed in f32 or f64. */
  public static final Set<DType> FLOATS = EnumSet.of(DType.F64, DType.F32, DType.F16, DType.BF16);

  /** All dtypes that are not stored in blocks. */
  public static final Set<DType> ELEMENTS =
      Arrays.stream(DType.values())
          .filter(dtype -> !dtype.isBlock())
          .collect(Collectors.toUnmodifiableSet());

  private static final Attribute FORM =
      Attribute.choice(
          "form",
          "erf",
          List.of("erf", "tanh", "sigmoid"),
          "formula of GELU. erf: x/2·(1 + erf(x/√2)); tanh: x/2·(1 + tanh(√(2/π)·(x +"
              + " 0.044715·x³))); sigmoid: x·sigmoid(1.702·x)");

  private ElementwiseOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(
        activation(
            "relu",
            "the rectified linear unit (ReLU)",
            "max(x, 0); NaN if x is NaN",
            Activation.RELU,
            1),
        new ElementwiseOp(
            description(
                "gelu",
                "Applies the Gaussian error linear unit (GELU) to each element.",
                List.of(one("x", "[…]", SINGLE, "the input tensor")),
                List.of(FORM),
                "y = x·Φ(x), or the approximation selected by form; 0 at -infinity, where"
                    + " PyTorch returns NaN",
                8),
            attributes -> new Formula(Combination.ONE, gelu(attributes)),
            false,
            8),
        activation(
            "silu",
            "the sigmoid linear unit (SiLU)",
            "x / (1 + e^-x); 0 at -infinity, where PyTorch returns NaN",
            Activation.SILU,
            4),
        activation("tanh", "the hyperbolic tangent", "tanh(x)", Activation.TANH, 5),
        activation("sigmoid", "the sigmoid function", "1 / (1 + e^-x)", Activation.SIGMOID, 3),
        gate(
            "swiglu",
            "SiLU-gated linear unit (SwiGLU)",
            "silu(gate)·up",
            List.of(),
            _ -> Activation.SILU,
            5),
        gate(
            "geglu",
            "GELU-gated linear unit (GEGLU)",
            "gelu(gate)·up",
            List.of(FORM),
            ElementwiseOps::gelu,
            9),
        biasActivation(),
        activationBackward(),
        gateBackward("swiglu", "silu", List.of(), _ -> Activation.SILU, 10),
        gateBackward("geglu", "gelu", List.of(FORM), ElementwiseOps::gelu, 18),
        pair("add", "Computes the sum of", "a + b", Combination.SUM),
        pair("mul", "Computes the product of", "a·b", Combination.PRODUCT),
        scale(),
        cast());
  }

  private static Activation gelu(Attributes attributes) {
    return switch (attributes.choice("form")) {
      case "tanh" -> Activation.GELU_TANH;
      case "sigmoid" -> Activation.GELU_SIGMOID;
      default -> Activation.GELU;
    };
  }

  private static ElementwiseOp activation(
      String name, String title, String formula, Activation activation, int flops) {
    return new ElementwiseOp(
        description(
            name,
            "Applies %s to each element.".formatted(title),
            List.of(one("x", "[…]", SINGLE, "the input tensor")),
            List.of(),
            "y = " + formula,
            flops),
        _ -> new Formula(Combination.ONE, activation),
        false,
        flops);
  }

  private static ElementwiseOp gate(
      String name,
      String title,
      String formula,
      List<Attribute> attributes,
      Function<Attributes, Activation> activation,
      int flops) {
    return new ElementwiseOp(
        description(
            name,
            "Computes the %s, in one pass.".formatted(title),
            List.of(
                one("gate", "[…]", SINGLE, "argument of the activation function"),
                one("up", "[…]", SINGLE, "factor of the activated gate").like("gate")),
            attributes,
            "y = " + formula,
            flops),
        given -> new Formula(Combination.GATE, activation.apply(given)),
        false,
        flops);
  }

  private static ElementwiseOp biasActivation() {
    return new ElementwiseOp(
        description(
            "bias-activation",
            "Adds a bias to each row and applies an activation function, in one pass.",
            List.of(
                one("x", "[…, N]", SINGLE, "the input rows"),
                one("bias", "[N]", SINGLE, "the bias, added to each row").like("x", DType.F32)),
            List.of(choice("activation function, applied to the sum")),
            "y = activation(x + bias)",
            9),
        given -> new Formula(Combination.SUM, Activation.of(given.choice("activation"))),
        false,
        9);
  }

  private static ElementwiseOp activationBackward() {
    return new ElementwiseOp(
        description(
            "activation-backward",
            "Computes the gradient of an activation function from its argument.",
            List.of(
                one("x", "[…]", SINGLE, "the argument of the activation function"),
                one("grad", "[…]", SINGLE, "the gradient with respect to its result").like("x")),
            List.of(choice("activation function")),
            "y = grad · activation'(x); the derivative of relu at 0 is 0",
            14),
        given -> new Formula(Combination.GRADIENT, Activation.of(given.choice("activation"))),
        false,
        14);
  }

  private static Op gateBackward(
      String name,
      String function,
      List<Attribute> attributes,
      Function<Attributes, Activation> activation,
      int flops) {
    return new GateBackwardOp(
        new OpDescription(
            name + "-backward",
            "Computes the gradients of %s, in one pass.".formatted(name),
            List.of(
                one("grad", "[…]", SINGLE, "the gradient with respect to y").like("gate"),
                one("gate", "[…]", SINGLE, "the gate passed to " + name),
                one("up", "[…]", SINGLE, "the factor passed to " + name).like("gate")),
            attributes,
            List.of(
                Output.of("dgate", "[…]", "same as gate", "the gradient with respect to gate"),
                Output.of("dup", "[…]", "same as gate", "the gradient with respect to up")),
            "dgate = grad·up·%s'(gate), dup = grad·%s(gate)".formatted(function, function),
            flops + " per element"),
        activation,
        flops);
  }

  private static Attribute choice(String meaning) {
    return Attribute.choice(
        "activation", "none", Activation.names(List.of(Activation.values())), meaning);
  }

  private static ElementwiseOp pair(
      String name, String verb, String formula, Combination combination) {
    return new ElementwiseOp(
        description(
            name,
            verb + " two tensors, element by element, with NumPy broadcasting.",
            List.of(
                one("a", "[…a]", FLOATS, "the first operand"),
                one("b", "[…b]", FLOATS, "the second operand").like("a")),
            List.of(),
            "y = " + formula + ", rounded once",
            1),
        _ -> new Formula(combination, Activation.NONE),
        true,
        1);
  }

  private static ElementwiseOp scale() {
    return new ElementwiseOp(
        description(
            "scale",
            "Multiplies each element by a scalar.",
            List.of(one("x", "[…]", FLOATS, "the input tensor")),
            List.of(
                Attribute.number(
                    ElementwiseOp.FACTOR, 1, "the scalar, rounded to f32 unless x is f64")),
            "y = factor·x",
            1),
        _ -> new Formula(Combination.PRODUCT, Activation.NONE),
        false,
        1);
  }

  private static ElementwiseOp cast() {
    return new ElementwiseOp(
        new OpDescription(
            "cast",
            "Converts each element to another dtype.",
            List.of(one("x", "[…]", ELEMENTS, "the input tensor")),
            Stream.concat(
                    Stream.of(
                        Attribute.choice(
                                ElementwiseOp.TO,
                                "",
                                ELEMENTS.stream().sorted().map(DType::text).toList(),
                                "dtype of y")
                            .asRequired()),
                    Conversion.attributes().stream())
                .toList(),
            List.of(Output.of("y", "[…]", "to", "the converted tensor")),
            "y = x, rounded once. To float: to nearest, ties to even; saturate controls"
                + " overflow. To integer: by the mode round, then clamped to the range of the"
                + " dtype, never wrapped (NumPy and PyTorch wrap or leave it undefined); NaN"
                + " becomes 0. To bool: 0 for zeros, otherwise 1",
            "0"),
        _ -> Formula.IDENTITY,
        false,
        0);
  }

  private static Input one(String name, String shape, Set<DType> dtypes, String meaning) {
    return new Input(name, shape, dtypes, false, meaning);
  }

  private static OpDescription description(
      String name,
      String summary,
      List<Input> inputs,
      List<Attribute> attributes,
      String formula,
      int flops) {
    var first = inputs.getFirst();
    var shape = first.shape().replace("…a", "…");
    return new OpDescription(
        name,
        summary,
        inputs,
        attributes,
        List.of(Output.of("y", shape, "same as " + first.name(), "the result")),
        formula,
        flops + " per element");
  }
}
