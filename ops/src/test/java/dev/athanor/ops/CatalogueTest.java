package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.matmul.Matmul;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CatalogueTest {

  private static final TensorType MATRIX = TensorType.of(DType.F32, 2, 2);

  @Test
  void findsWhatTheClassPathHas() {
    assertThat(Catalogue.load().find("matmul")).containsInstanceOf(Matmul.class);
    assertThat(Catalogue.load().find("frobnicate")).isEmpty();
  }

  @Test
  void refusesTwoOpsOfOneName() {
    assertThatThrownBy(() -> new Catalogue(List.of(new Matmul(), new Matmul())))
        .hasMessage(
            "two ops are called matmul: dev.athanor.ops.matmul.Matmul and dev.athanor.ops.matmul.Matmul");
  }

  @Test
  void checksInputs() {
    refused(
        Map.of("a", MATRIX),
        OpException.MissingInput.class,
        "input \"b\" […, K, N] is missing; matmul takes a, b, bias");
    refused(
        Map.of("a", MATRIX, "b", MATRIX, "d", MATRIX),
        OpException.UnknownField.class,
        "matmul has no input \"d\"; its inputs are a, b, bias");
    refused(
        Map.of("a", TensorType.of(DType.I8, 2, 2), "b", MATRIX),
        OpException.UnsupportedDType.class,
        "input \"a\" is i8; matmul takes f64, f32, f16, bf16, e4m3, e5m2");
    refused(
        Map.of("a", TensorType.of(DType.F32, 0, 2), "b", MATRIX),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [0, 2]; every extent must be at least 1");
    refused(
        Map.of("a", TensorType.of(DType.F32, 2, 0), "b", TensorType.of(DType.F32, 0, 2)),
        OpException.ShapeMismatch.class,
        "input \"a\" has shape [2, 0]; every extent must be at least 1");
    refused(
        Map.of("a", MATRIX, "b", TensorType.of(DType.F32, 2, 0)),
        OpException.ShapeMismatch.class,
        "input \"b\" has shape [2, 0]; every extent must be at least 1");
  }

  private static void refused(
      Map<String, TensorType> inputs, Class<? extends OpException> kind, String message) {
    assertThatThrownBy(() -> Catalogue.checkInputs(new Matmul().description(), inputs))
        .isInstanceOf(kind)
        .hasMessage(message);
  }
}
