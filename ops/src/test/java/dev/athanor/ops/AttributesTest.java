package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.OpDescription.Attribute;
import dev.athanor.ops.linear.dense.Matmul;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class AttributesTest {

  private static final OpDescription OP = new Matmul().description();

  @Test
  void appliesDefaults() {
    var attributes = Attributes.of(OP, Map.of());
    assertThat(attributes.flag("transposeA")).isFalse();
    assertThat(attributes.number("alpha")).isEqualTo(1);
    assertThat(attributes.choice("activation")).isEqualTo("none");
    assertThat(attributes.choice("outDtype")).isEmpty();
  }

  @Test
  void parsesText() {
    var attributes =
        Attributes.of(OP, Map.of("transposeA", "true", "alpha", "0.5", "activation", "gelu-tanh"));
    assertThat(attributes)
        .isEqualTo(
            Attributes.of(OP, Map.of("transposeA", true, "alpha", 0.5, "activation", "gelu-tanh")));
  }

  @Test
  void rejectsInvalidValues() {
    assertRejected(
        Map.of("transposeA", "yes"), "attribute \"transposeA\" must be true or false, got \"yes\"");
    assertRejected(Map.of("alpha", true), "attribute \"alpha\" must be a finite number, got true");
    assertRejected(
        Map.of("alpha", "many"), "attribute \"alpha\" must be a finite number, got \"many\"");
    assertRejected(
        Map.of("outDtype", ""),
        "attribute \"outDtype\" must be one of f64, f32, f16, bf16, got \"\"");
    for (var number : List.of("", "0x1p3", "1d", "+1", " 1", "NaN", "\u0661", "1e999")) {
      assertRejected(
          Map.of("alpha", number),
          "attribute \"alpha\" must be a finite number, got \"" + number + "\"");
    }
    assertRejected(
        Map.of("alpha", Double.NaN), "attribute \"alpha\" must be a finite number, got NaN");
    assertRejected(
        Map.of("activation", "swish"),
        "attribute \"activation\" must be one of none, relu, gelu, gelu-tanh, silu, got \"swish\"");
  }

  private static final OpDescription LISTS =
      new OpDescription(
          "lists",
          "",
          OpDescription.Input.list("x", 1, 3, "[N]", Set.of(DType.F32), ""),
          List.of(
              Attribute.integers("axes", "").from(-8, 7),
              Attribute.numbers("constants", ""),
              Attribute.text("expression", "")),
          OpDescription.Output.list("y", 2, "[N]", "f32", ""),
          "",
          "");

  @Test
  void parsesListsAndTexts() {
    var attributes =
        Attributes.of(
            LISTS, Map.of("axes", List.of(0, -2), "constants", "0.5, 2", "expression", "x + c0"));
    assertThat(attributes.integers("axes")).containsExactly(0L, -2L);
    assertThat(attributes.numbers("constants")).containsExactly(0.5, 2.0);
    assertThat(attributes.text("expression")).isEqualTo("x + c0");
    var text = Attributes.of(LISTS, Map.of("axes", "0,-2", "constants", "", "expression", ""));
    assertThat(text.integers("axes")).containsExactly(0L, -2L);
    assertThat(text.numbers("constants")).isEmpty();
    assertThat(text.has("constants")).isTrue();
    var one = Attributes.of(LISTS, Map.of("axes", 1));
    assertThat(one.integers("axes")).containsExactly(1L);
    assertThat(one.has("expression")).isFalse();
    assertThat(one.text("expression")).isEmpty();
  }

  @Test
  void rejectsInvalidLists() {
    assertRejectedList(
        Map.of("axes", List.of(0, 1.5)),
        "attribute \"axes\" must be integers such as 0,2, got [0, 1.5]");
    assertRejectedList(
        Map.of("axes", "0,,1"), "attribute \"axes\" must be integers such as 0,2, got \"0,,1\"");
    assertRejectedList(
        Map.of("axes", List.of(0, 8)), "attribute \"axes\" must be from -8 to 7, got [0, 8]");
    assertRejectedList(
        Map.of("constants", List.of("a")),
        "attribute \"constants\" must be finite numbers such as 0.5,2, got [a]");
    assertRejectedList(Map.of("expression", 1), "attribute \"expression\" must be a text, got 1");
  }

  private static void assertRejectedList(Map<String, ?> given, String message) {
    assertThatThrownBy(() -> Attributes.of(LISTS, given))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(message);
  }

  @Test
  void listsOfInputsHaveNoGaps() {
    var type = TensorType.of(DType.F32, 2);
    Catalogue.checkInputs(LISTS, LISTS.byName(Map.of("x", type)));
    Catalogue.checkInputs(LISTS, Map.of("x0", type, "x1", type, "x2", type));
    assertThatThrownBy(() -> Catalogue.checkInputs(LISTS, Map.of("x0", type, "x2", type)))
        .isInstanceOf(OpException.MissingInput.class)
        .hasMessage(
            "input \"x1\" is missing but \"x2\" is given; the inputs of a list have consecutive numbers");
    assertThatThrownBy(() -> Catalogue.checkInputs(LISTS, Map.of()))
        .hasMessage("input \"x0\" [N] is missing; the inputs of lists are x0 … x2");
    assertThatThrownBy(() -> Catalogue.checkInputs(LISTS, Map.of("x0", type, "x3", type)))
        .hasMessage("lists has no input \"x3\"; its inputs are x0 … x2");
    assertThat(LISTS.outputs().stream().filter(OpDescription.Output::optional)).hasSize(1);
  }

  @Test
  void rejectsMissingValues() {
    var cast = Runner.op("cast").description();
    assertThatThrownBy(() -> Attributes.of(cast, Map.of()))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage("attribute \"to\" is missing; cast requires it: dtype of y");
    assertThat(Attributes.defaults(cast)).doesNotContainKey("to");
  }

  @Test
  void quotesLongValues() {
    assertRejected(
        Map.of("activation", "a".repeat(100)),
        "attribute \"activation\" must be one of none, relu, gelu, gelu-tanh, silu, got \""
            + "a".repeat(59)
            + "…");
  }

  @Test
  void rejectsUnknownNames() {
    assertThatThrownBy(() -> Attributes.of(OP, Map.of("transpose", true)))
        .isInstanceOf(OpException.UnknownField.class)
        .hasMessage(
            "matmul has no attribute \"transpose\"; its attributes are transposeA, transposeB, alpha, activation, outDtype, precision");
  }

  private static void assertRejected(Map<String, ?> given, String message) {
    assertThatThrownBy(() -> Attributes.of(OP, given))
        .isInstanceOf(OpException.InvalidAttribute.class)
        .hasMessage(message);
  }
}
