package dev.athanor.ops.reduce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.Runner;
import dev.athanor.ops.TensorType;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ScanTest {

  private static HostTensor scan(String op, HostTensor x, Map<String, ?> attributes) {
    return Runner.run(Runner.op(op), Map.of("x", x), attributes, "y");
  }

  @Test
  void scansInBothDirections() {
    var x = HostTensor.of(TensorType.of(DType.F32, 4), 1, 2, 3, 4);
    var exclusive = Map.of("exclusive", true);
    var reverse = Map.of("reverse", true);
    var both = Map.of("exclusive", true, "reverse", true);
    assertThat(scan("cumsum", x, Map.of()).toDoubles()).containsExactly(1, 3, 6, 10);
    assertThat(scan("cumsum", x, exclusive).toDoubles()).containsExactly(0, 1, 3, 6);
    assertThat(scan("cumsum", x, reverse).toDoubles()).containsExactly(10, 9, 7, 4);
    assertThat(scan("cumsum", x, both).toDoubles()).containsExactly(9, 7, 4, 0);
    assertThat(scan("cumprod", x, Map.of()).toDoubles()).containsExactly(1, 2, 6, 24);
    assertThat(scan("cumprod", x, both).toDoubles()).containsExactly(24, 12, 4, 1);
  }

  @Test
  void scansAnyDimension() {
    var x = HostTensor.of(TensorType.of(DType.I32, 2, 3, 1), 1, 2, 3, 4, 5, 6);
    assertThat(scan("cumsum", x, Map.of("axis", 0)).toDoubles()).containsExactly(1, 2, 3, 5, 7, 9);
    assertThat(scan("cumprod", x, Map.of("axis", -2)).toDoubles())
        .containsExactly(1, 2, 6, 4, 20, 120);
  }

  /** Rows and columns of many chunks, whose extents no access width divides. */
  @Test
  void carriesSumsAcrossChunks() {
    int n = 20_003;
    var ones = new double[n];
    Arrays.fill(ones, 1);
    var expected = IntStream.rangeClosed(1, n).asDoubleStream().toArray();
    var row = HostTensor.of(TensorType.of(DType.F32, n), ones);
    assertThat(scan("cumsum", row, Map.of()).toDoubles()).isEqualTo(expected);
    var columns = HostTensor.of(TensorType.of(DType.F32, 2003, 3), Arrays.copyOf(ones, 6009));
    var y = scan("cumsum", columns, Map.of("axis", 0)).toDoubles();
    for (int i = 0; i < y.length; i++) {
      assertThat(y[i]).isEqualTo(i / 3 + 1);
    }
  }

  @Test
  void sumsThatCancelAreAccurate() {
    var x = new double[3000];
    Arrays.fill(x, 1);
    x[0] = 1e8;
    x[2999] = -1e8;
    var y = scan("cumsum", HostTensor.of(TensorType.of(DType.F32, 3000), x), Map.of());
    assertThat(y.get(2999)).isEqualTo(2998);
  }

  @Test
  void integersWrap() {
    var x = HostTensor.of(TensorType.of(DType.I64, 3), 0x1p53, 1, 0);
    DType.I64.writeLong(x.data(), 2, Long.MAX_VALUE);
    var y = scan("cumsum", x, Map.of());
    assertThat(DType.I64.readLong(y.data(), 1)).isEqualTo((1L << 53) + 1);
    assertThat(DType.I64.readLong(y.data(), 2)).isEqualTo(Long.MIN_VALUE + (1L << 53));
  }

  /** The rounding error of an infinite sum, NaN, is not part of it. */
  @Test
  void propagatesInfinitiesAndNans() {
    double infinity = Double.POSITIVE_INFINITY;
    var x = HostTensor.of(TensorType.of(DType.F16, 4), 1, infinity, 2, -infinity);
    assertThat(scan("cumsum", x, Map.of()).toDoubles())
        .containsExactly(1, infinity, infinity, Double.NaN);
  }
}
