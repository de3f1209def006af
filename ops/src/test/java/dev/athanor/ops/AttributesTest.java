package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.linear.dense.Matmul;
import java.util.List;
import java.util.Map;
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
