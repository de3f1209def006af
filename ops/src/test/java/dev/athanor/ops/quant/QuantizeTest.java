package dev.athanor.ops.quant;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.Draw;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QuantizeTest {

  /** What is quantised comes back within half a scale, and the greatest magnitude as 127 scales. */
  @ParameterizedTest
  @CsvSource({"tensor, F32", "row, F32", "tensor, F16", "row, BF16"})
  void numbersComeBack(String per, DType dtype) {
    var x = new Draw(new Random(11)).normal(dtype, 5, 72);
    for (var quantised :
        Runner.all(new QuantizeInt8(), Map.of("x", x), Map.of("per", per)).values()) {
      var q = Objects.requireNonNull(quantised.get("q"));
      var scale = Objects.requireNonNull(quantised.get("scale"));
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

  private static int greatest(HostTensor x) {
    int greatest = 0;
    for (int i = 0; i < x.type().shape().elements(); i++) {
      greatest = Math.abs(x.get(i)) > Math.abs(x.get(greatest)) ? i : greatest;
    }
    return greatest;
  }
}
