package dev.athanor.ops.quant;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.Tensors;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuantizeTest {

  /** The round trip is within half a scale, and the greatest magnitude becomes 127. */
  @ParameterizedTest
  @CsvSource({"tensor, F32", "row, F32", "tensor, F16", "row, BF16"})
  void roundTripIsWithinHalfAScale(String per, DType dtype) {
    var x = new Draw(new Random(11)).normal(dtype, 5, 72);
    for (var quantized :
        Runner.all(new QuantizeInt8(), Map.of("x", x), Map.of("per", per)).values()) {
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
        Runner.all(new QuantizeInt8(), Map.of("x", x), Map.of("per", per)).values()) {
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
        Runner.all(new QuantizeInt8(), Map.of("x", x), Map.of("per", per)).values()) {
      assertThat(Tensors.get(quantized, "scale").get(0)).isEqualTo(1);
      assertThat(Tensors.get(quantized, "q").toDoubles()).containsExactly(127, -127, 3, -127, 0, 0);
    }
  }

  private static int greatest(HostTensor x) {
    int greatest = 0;
    for (int i = 0; i < x.type().shape().elements(); i++) {
      greatest = Math.abs(x.get(i)) > Math.abs(x.get(greatest)) ? i : greatest;
    }
    return greatest;
  }
}
