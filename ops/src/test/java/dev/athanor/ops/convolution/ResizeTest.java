package dev.athanor.ops.convolution;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.athanor.ops.Catalogue;
import dev.athanor.ops.DType;
import dev.athanor.ops.OpException;
import dev.athanor.ops.Problem;
import dev.athanor.ops.TensorType;
import dev.athanor.ops.TestDevices;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks the scales and positions of resizes, and what is too large for them. */
class ResizeTest {

  @ParameterizedTest
  @CsvSource({
    "0.6, 3, 5",
    "1.7, 17, 10",
    "0.33333334, 1, 3",
    "2, 2, 1",
    "0.8, 4, 5",
    "4.656612873077393E-10, 1, 2147483648",
    "2147483648, 2147483648, 1"
  })
  void takesScalesOfSinglePrecisionAsFractions(float scale, long numerator, long denominator) {
    assertThat(Fraction.near(scale)).isEqualTo(new Fraction(numerator, denominator));
  }

  @ParameterizedTest
  @CsvSource({
    "10, 0.7, 7",
    "10, 0.79, 7",
    "4, 0.6, 2",
    "3, 0.33333334, 1",
    "3000000, 0.33333334, 1000000"
  })
  void roundsExtentsDown(long extent, String scale, long expected) {
    var problem = problem("x=f32[1,1,%d] scales=%s".formatted(extent, scale));
    assertThat(problem.op().outputs(problem.inputs(), problem.attributes()))
        .isEqualTo(Map.of("y", TensorType.of(DType.F32, 1, 1, expected)));
  }

  /** Positions that no float64 number has: 49 · (1 / 49) rounds below 1. */
  @ParameterizedTest
  @CsvSource({"49", "98", "103", "107"})
  void roundsExactPositions(long extent) {
    var scale = Fraction.of(extent, 1);
    var positions =
        SamplePositions.of(SamplePositions.Coordinates.ASYMMETRIC, 0, 3, 3 * extent, scale);
    assertThat(positions.unit()).isEqualTo(extent);
    assertThat(positions.numerator(extent)).isEqualTo(extent);
    assertThat(positions.rounded(SamplePositions.Rounding.CEIL).numerator(extent) / extent)
        .isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "x=f32[1,1,4] | give either attribute \"sizes\" or attribute \"scales\"",
        "x=f32[1,1,4] sizes=2 scales=0.5 | give either attribute \"sizes\" or attribute \"scales\"",
        "x=f32[1,1,4] scales=0 | attribute \"scales\" is [0.0]; each value must be from 2^-31 to 2^31",
        "x=f32[1,1,4] scales=0.2"
            + " | spatial dimension 0 of y would have 0 elements; choose another scale",
        "x=f16[1,1,2000000011] sizes=1999999973 | resizing spatial dimension 0 from 2000000011 to"
            + " 1999999973 elements requires positions in fractions of more than 2^30; choose extents"
            + " with a common divisor",
        "x=f16[1,1,2000000000] sizes=1 mode=linear antialias=true | antialiasing would weigh more"
            + " than 2^31 - 1025 elements along a dimension of x"
      })
  void explainsRefusals(String text, String message) {
    var problem = problem(text);
    assertThatThrownBy(() -> problem.plans(TestDevices.H200))
        .isInstanceOf(OpException.class)
        .hasMessage(message);
  }

  private static Problem problem(String text) {
    return Problem.parse(Catalogue.load().find("resize").orElseThrow(), text);
  }
}
