package dev.athanor.ops.quant;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Attributes;
import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuantizeTest {

  /** The round trip is within half a scale, and the greatest magnitude becomes 127. */
  @ParameterizedTest
  @CsvSource({"tensor, F32", "row, F32", "tensor, F16", "row, BF16"})
  void roundTripIsWithinHalfAScale(String per, DType dtype) {
    var x = new Draw(new Random(11)).normal(dtype, 5, 72);
    for (var quantized :
        Runner.all(QuantizeOp.int8(), Map.of("x", x), Map.of("per", per)).values()) {
      var q = Objects.requireNonNull(quantized.get("q"));
      var scale = Objects.requireNonNull(quantized.get("scale"));
      assertThat(q.type()).isEqualTo(TensorType.of(DType.I8, 5, 72));
      assertThat(scale.type().shape().rank()).isEqualTo(per.equals("row") ? 1 : 0);
      var inputs = Map.of("x", q, "scale", scale);
      for (var y : Runner.all(new Dequantize(), inputs, Map.of(), "y").values()) {
        for (int i = 0; i < y.length; i++) {
          double own = scale.get(per.equals("row") ? i / 72 : 0);
          assertThat(Math.abs(y[i] - x.get(i))).isLessThanOrEqualTo(0.5001 * own);
        }
      }
      assertThat(Math.abs(q.get(greatest(x)))).isEqualTo(127);
    }
  }

  /** The smallest numbers get a normal scale, and their round trip is within half of it. */
  @ParameterizedTest
  @CsvSource({"tensor, F32", "row, F32", "tensor, BF16", "row, BF16"})
  void smallestNumbersHaveANormalScale(String per, DType dtype) {
    double least = dtype.spacing(0);
    var x =
        HostTensor.of(TensorType.of(dtype, 2, 4), least, -3 * least, 0, 60 * least, 0, 0, 0, least);
    for (var quantized :
        Runner.all(QuantizeOp.int8(), Map.of("x", x), Map.of("per", per)).values()) {
      for (int i = 0; i < 8; i++) {
        double scale = Tensors.get(quantized, "scale").get(per.equals("row") ? i / 4 : 0);
        assertThat(scale).isEqualTo(Float.MIN_NORMAL);
        assertThat(Math.abs(Tensors.get(quantized, "q").get(i) * scale - x.get(i)))
            .isLessThanOrEqualTo(scale / 2);
      }
    }
  }

  /** Infinities saturate, and neither infinities nor NaN affect other elements. */
  @ParameterizedTest
  @CsvSource({"tensor, F32", "row, F32", "row, F16", "row, BF16"})
  void infinitiesSaturate(String per, DType dtype) {
    double up = Double.POSITIVE_INFINITY;
    var x = HostTensor.of(TensorType.of(dtype, 1, 6), up, -127, 3, -up, Double.NaN, 0);
    for (var quantized :
        Runner.all(QuantizeOp.int8(), Map.of("x", x), Map.of("per", per)).values()) {
      assertThat(Tensors.get(quantized, "scale").get(0)).isEqualTo(1);
      assertThat(Tensors.get(quantized, "q").toDoubles()).containsExactly(127, -127, 3, -127, 0, 0);
    }
  }

  /** 896 becomes the greatest number of e4m3, so the scale is 2. */
  @ParameterizedTest
  @ValueSource(strings = {"tensor", "row", "group"})
  void roundsToFp8(String per) {
    double up = Double.POSITIVE_INFINITY;
    var x = HostTensor.of(TensorType.of(DType.F32, 1, 8), 1, -896, 34, 38, up, -up, Double.NaN, 0);
    for (var quantized : fp8(x, Map.of("per", per))) {
      assertThat(Tensors.get(quantized, "scale").toDoubles()).containsExactly(2);
      // 17 and 19 are ties
      assertThat(Tensors.get(quantized, "q").toDoubles())
          .containsExactly(0.5, -448, 16, 20, 448, -448, Double.NaN, 0);
    }
    var wide = HostTensor.of(TensorType.of(DType.F32, 1, 4), 28672, -3, up, Double.NaN);
    for (var quantized : fp8(wide, Map.of("per", per, "outDtype", "e5m2"))) {
      assertThat(Tensors.get(quantized, "scale").toDoubles()).containsExactly(0.5);
      assertThat(Tensors.get(quantized, "q").toDoubles())
          .containsExactly(57344, -6, up, Double.NaN);
    }
  }

  /** A scale of 0 would make NaN of zeros, and a subnormal one would lose precision. */
  @ParameterizedTest
  @ValueSource(strings = {"tensor", "row", "group"})
  void fp8OfZerosIsZeroAndTinyNumbersHaveANormalScale(String per) {
    for (var quantized :
        fp8(HostTensor.zeros(TensorType.of(DType.F16, 1, 24)), Map.of("per", per))) {
      assertThat(Tensors.get(quantized, "scale").toDoubles()).containsExactly(0);
      assertThat(Tensors.get(quantized, "q").toDoubles()).containsOnly(0);
    }
    double least = DType.F32.spacing(0);
    var tiny = HostTensor.of(TensorType.of(DType.F32, 1, 2), 0x1p-130, -least);
    for (var quantized : fp8(tiny, Map.of("per", per))) {
      assertThat(Tensors.get(quantized, "scale").toDoubles()).containsExactly(Float.MIN_NORMAL);
      assertThat(Tensors.get(quantized, "q").toDoubles()).containsExactly(0x1p-4, -0.0);
    }
  }

  /** The third group of each row has 44 elements. */
  @ParameterizedTest
  @CsvSource({"F32, e4m3", "F16, e5m2", "BF16, e4m3"})
  void groupsEndWithTheirRow(DType dtype, String out) {
    int n = 300;
    var x = new Draw(new Random(13)).normal(dtype, 3, n);
    var fp8 = DType.of(out).orElseThrow();
    for (var quantized : fp8(x, Map.of("per", "group", "outDtype", out))) {
      var scale = Tensors.get(quantized, "scale");
      var q = Tensors.get(quantized, "q");
      assertThat(scale.type()).isEqualTo(TensorType.of(DType.F32, 3, 3));
      assertThat(q.type()).isEqualTo(TensorType.of(fp8, 3, n));
      for (int row = 0; row < 3; row++) {
        for (int first = 0; first < n; first += 128) {
          double own = scale.get(row * 3L + first / 128);
          double greatest = 0;
          for (int i = first; i < Math.min(n, first + 128); i++) {
            double value = x.get((long) row * n + i);
            greatest = Math.max(greatest, Math.abs(value));
            double error = Math.abs(q.get((long) row * n + i) * own - value);
            assertThat(error).isLessThanOrEqualTo(0.501 * own * fp8.spacing(value / own));
          }
          assertThat(own).isEqualTo((float) (greatest / fp8.greatest()));
        }
      }
    }
  }

  @Test
  void groupsRequireADimension() {
    var op = QuantizeOp.fp8();
    var attributes = Attributes.of(op.description(), Map.of("per", "group"));
    assertThatThrownBy(() -> op.outputs(Map.of("x", TensorType.of(DType.F32)), attributes))
        .isInstanceOf(OpException.ShapeMismatch.class)
        .hasMessage(
            "input \"x\" has shape []; one scale per group requires at least one dimension");
  }

  private static Collection<Map<String, HostTensor>> fp8(HostTensor x, Map<String, ?> attributes) {
    return Runner.all(QuantizeOp.fp8(), Map.of("x", x), attributes).values();
  }

  private static int greatest(HostTensor x) {
    int greatest = 0;
    for (int i = 0; i < x.type().shape().elements(); i++) {
      greatest = Math.abs(x.get(i)) > Math.abs(x.get(greatest)) ? i : greatest;
    }
    return greatest;
  }
}
