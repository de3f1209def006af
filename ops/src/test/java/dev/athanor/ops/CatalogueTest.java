package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.linear.dense.Matmul;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CatalogueTest {

  private static final TensorType MATRIX = TensorType.of(DType.F32, 2, 2);

  @Test
  void findsOpsOnTheClassPath() {
    assertThat(Catalogue.load().find("matmul")).containsInstanceOf(Matmul.class);
    assertThat(Catalogue.load().find("frobnicate")).isEmpty();
  }

  @Test
  void rejectsDuplicateNames() {
    assertThatThrownBy(() -> new Catalogue(List.of(new Matmul(), new Matmul())))
        .hasMessage(
            "duplicate op name \"matmul\": dev.athanor.ops.linear.dense.Matmul and"
                + " dev.athanor.ops.linear.dense.Matmul");
  }

  @Test
  void checksInputs() {
    assertRejected(
        Map.of("a", MATRIX),
        OpException.MissingInput.class,
        "input \"b\" […b, K, N] or […b, N, K] with transposeB is missing; the inputs of matmul are a, b, bias");
    assertRejected(
        Map.of("a", MATRIX, "b", MATRIX, "d", MATRIX),
        OpException.UnknownField.class,
        "matmul has no input \"d\"; its inputs are a, b, bias");
    assertRejected(
        Map.of("a", TensorType.of(DType.I8, 2, 2), "b", MATRIX),
        OpException.UnsupportedDType.class,
        "input \"a\" is i8; matmul supports f64, f32, f16, bf16, e4m3, e5m2");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, -1, 2), "b", MATRIX),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [-1, 2]; every extent must be at least 0");
    assertRejected(
        Map.of("a", TensorType.of(DType.F32, 2, -1), "b", TensorType.of(DType.F32, -1, 2)),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [2, -1]; every extent must be at least 0");
    assertRejected(
        Map.of("a", MATRIX, "b", TensorType.of(DType.F32, 2, -1)),
        OpException.ShapeMismatch.class,
        "input \"b\" has shape [2, -1]; every extent must be at least 0");
  }

  @Test
  void acceptsOtherNamesOfInputs() {
    var norm = Catalogue.load().find("rms-norm").orElseThrow();
    var rows = TensorType.of(DType.F32, 2, 4);
    var vector = TensorType.of(DType.F32, 4);
    assertThat(norm.description().byName(Map.of("x", rows, "weight", vector)))
        .isEqualTo(Map.of("x", rows, "gamma", vector));
    assertThat(Problem.parse(norm, "x=f32[2,4] weight=f32[4]").text())
        .isEqualTo("x=f32[2,4] gamma=f32[4]");
    assertThatThrownBy(() -> Problem.parse(norm, "x=f32[2,4] gamma=f32[4] weight=f32[4]"))
        .isInstanceOf(OpException.UnknownField.class)
        .hasMessage(
            "\"weight\" is an alias of the input \"gamma\", which is also given; give only"
                + " one of them");
    var input = norm.description().inputs().getFirst();
    assertThatThrownBy(() ->
            new OpDescription(
                "twice", "", List.of(input, input.or("y")), List.of(), List.of(), "", ""))
        .hasMessage("op \"twice\" has two inputs with the same name: [x, x, y]");
  }

  private static void assertRejected(
      Map<String, TensorType> inputs, Class<? extends OpException> kind, String message) {
    assertThatThrownBy(() -> Catalogue.checkInputs(new Matmul().description(), inputs))
        .isInstanceOf(kind)
        .hasMessage(message);
  }
}
