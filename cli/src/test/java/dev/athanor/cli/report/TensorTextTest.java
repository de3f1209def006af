package dev.athanor.cli.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.athanor.ops.DType;
import dev.athanor.ops.HostTensor;
import dev.athanor.ops.TensorType;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TensorTextTest {

  private static String text(DType dtype, double[] values, long... shape) {
    return String.join("\n", TensorText.lines(HostTensor.of(TensorType.of(dtype, shape), values)));
  }

  private static double[] counted(int n) {
    return IntStream.range(0, n).asDoubleStream().toArray();
  }

  @Test
  void alignsNumbersAndRoundsToEightDigits() {
    assertThat(text(DType.F32, new double[] {1.0 / 3, -2, 1e-9, Double.NaN}, 2, 2))
        .isEqualTo("[[0.33333334         -2]\n [      1e-9        NaN]]");
    assertThat(text(DType.F32, new double[] {7})).isEqualTo("7");
    assertThat(text(DType.F32, new double[] {}, 0)).isEqualTo("[]");
    assertThat(text(DType.BOOL, new double[] {0, 1}, 2)).isEqualTo("[false  true]");
    assertThat(text(DType.I64, new double[] {-5, 0x1p62}, 2))
        .isEqualTo("[                 -5 4611686018427387904]");
  }

  @Test
  void wrapsLongRowsAndSeparatesMatrices() {
    assertThat(text(DType.I32, counted(40), 40).lines())
        .hasSize(2)
        .allMatch(line -> line.length() <= 75);
    assertThat(text(DType.I32, counted(8), 2, 2, 2))
        .isEqualTo("[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
  }

  @Test
  void shortensLargeTensors() {
    assertThat(text(DType.I32, counted(1001), 1001))
        .isEqualTo("[   0    1    2 ...  998  999 1000]");
    assertThat(text(DType.I32, counted(1000), 1000)).doesNotContain("...");
    assertThat(text(DType.I32, counted(2000), 1000, 2))
        .isEqualTo(
            """
            [[   0    1]
             [   2    3]
             [   4    5]
             ...
             [1994 1995]
             [1996 1997]
             [1998 1999]]\
            """);
  }
}
