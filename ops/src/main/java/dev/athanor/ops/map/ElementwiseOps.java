package dev.athanor.ops.map;

import dev.athanor.ops.Activation;
import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Op;
import dev.athanor.ops.OpDescription;
import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.OpDescription.Input;
import dev.athanor.ops.OpDescription.Output;
import dev.athanor.ops.map.ElementwiseOp.Shapes;
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
          "erf: x/2·(1 + erf(x/√2)); tanh: x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))); sigmoid:"
              + " x·sigmoid(1.702·x)");

  private ElementwiseOps() {}

  /** Returns all of them. */
  public static List<Op> all() {
    return List.of(
        activation("relu", "max(x, 0); NaN where x is NaN", Activation.RELU, 1),
        new ElementwiseOp(
            description(
                "gelu",
                "Applies the Gaussian error linear unit to each element.",
                List.of(one("x", "[…]", SINGLE, "the numbers")),
                List.of(FORM),
                "y = x·Φ(x), or the approximation that form names; 0 at -infinity, where PyTorch gives NaN",
                8),
            attributes -> new Formula(Combination.ONE, gelu(attributes)),
            Shapes.EQUAL,
            8),
        activation(
            "silu", "x / (1 + e^-x); 0 at -infinity, where PyTorch gives NaN", Activation.SILU, 4),
        activation("tanh", "tanh(x)", Activation.TANH, 5),
        activation("sigmoid", "1 / (1 + e^-x)", Activation.SIGMOID, 3),
        gate("swiglu", "silu(gate)·up", List.of(), _ -> Activation.SILU, 5),
        gate("geglu", "gelu(gate)·up", List.of(FORM), ElementwiseOps::gelu, 9),
        biasActivation(),
        pair("add", "Adds", "a + b", Combination.SUM),
        pair("mul", "Multiplies", "a·b", Combination.PRODUCT),
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
      String name, String formula, Activation activation, int flops) {
    return new ElementwiseOp(
        description(
            name,
            "Applies %s to each element.".formatted(name),
            List.of(one("x", "[…]", SINGLE, "the numbers")),
            List.of(),
            "y = " + formula,
            flops),
        _ -> new Formula(Combination.ONE, activation),
        Shapes.EQUAL,
        flops);
  }

  private static ElementwiseOp gate(
      String name,
      String formula,
      List<Attribute> attributes,
      Function<Attributes, Activation> activation,
      int flops) {
    return new ElementwiseOp(
        description(
            name,
            "Applies an activation to a gate and multiplies by it, in one pass.",
            List.of(
                one("gate", "[…]", SINGLE, "what the activation is of"),
                one("up", "[…]", SINGLE, "what is multiplied; the shape and dtype of gate")),
            attributes,
            "y = " + formula,
            flops),
        given -> new Formula(Combination.GATE, activation.apply(given)),
        Shapes.EQUAL,
        flops);
  }

  private static ElementwiseOp biasActivation() {
    return new ElementwiseOp(
        description(
            "bias-activation",
            "Adds a bias to every row and applies an activation, in one pass.",
            List.of(
                one("x", "[…, N]", SINGLE, "the rows"),
                one("bias", "[N]", SINGLE, "added to every row; the dtype of x")),
            List.of(
                Attribute.choice(
                    "activation",
                    "none",
                    Activation.names(List.of(Activation.values())),
                    "the function of the sum")),
            "y = activation(x + bias)",
            9),
        given -> new Formula(Combination.SUM, Activation.of(given.choice("activation"))),
        Shapes.ROW,
        9);
  }

  private static ElementwiseOp pair(
      String name, String verb, String formula, Combination combination) {
    return new ElementwiseOp(
        description(
            name,
            verb + " two tensors, which broadcast as in NumPy.",
            List.of(
                one("a", "[…]", FLOATS, "the first operand"),
                one(
                    "b",
                    "[…]",
                    FLOATS,
                    "the second operand, of the dtype of a: no dtype is promoted")),
            List.of(),
            "y = " + formula + ", rounded once",
            1),
        _ -> new Formula(combination, Activation.NONE),
        Shapes.BROADCAST,
        1);
  }

  private static ElementwiseOp scale() {
    return new ElementwiseOp(
        description(
            "scale",
            "Multiplies each element by a number.",
            List.of(one("x", "[…]", FLOATS, "the numbers")),
            List.of(
                Attribute.number(
                    ElementwiseOp.FACTOR,
                    1,
                    "what each is multiplied by, rounded to f32 unless x is f64")),
            "y = factor·x",
            1),
        _ -> new Formula(Combination.PRODUCT, Activation.NONE),
        Shapes.EQUAL,
        1);
  }

  private static ElementwiseOp cast() {
    return new ElementwiseOp(
        new OpDescription(
            "cast",
            "Converts each element to another dtype.",
            List.of(one("x", "[…]", ELEMENTS, "the numbers")),
            Stream.concat(
                    Stream.of(
                        Attribute.choice(
                                ElementwiseOp.TO,
                                "",
                                ELEMENTS.stream().sorted().map(DType::text).toList(),
                                "the dtype of y")
                            .asRequired()),
                    Conversion.attributes().stream())
                .toList(),
            List.of(Output.of("y", "[…]", "to", "the numbers of x in another dtype")),
            "y = x, rounded once. To a float: to nearest, ties to even; overflow as saturate says."
                + " To an integer: as round says, then clamped to the range of the dtype, never"
                + " wrapped (NumPy and PyTorch wrap or leave it undefined); a NaN becomes 0. To a"
                + " bool: 0 for zeros, else 1",
            "0"),
        _ -> Formula.IDENTITY,
        Shapes.EQUAL,
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
    return new OpDescription(
        name,
        summary,
        inputs,
        attributes,
        List.of(Output.of("y", first.shape(), "that of " + first.name(), "the result")),
        formula,
        flops + " an element");
  }
}
