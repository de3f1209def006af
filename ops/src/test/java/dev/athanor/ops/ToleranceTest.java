package dev.athanor.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class ToleranceTest {

  private static final Tolerance RELATIVE = new Tolerance(Tolerance.Metric.RELATIVE, 1);
  private static final Tolerance MAXIMUM = new Tolerance(Tolerance.Metric.MAXIMUM, 1);

  @Test
  void computesTheErrorOfTheMetric() {
    double[] reference = {3, 4};
    double[] result = {3, 4.5};
    assertThat(RELATIVE.error(result, reference)).isCloseTo(0.1, within(1e-15));
    assertThat(MAXIMUM.error(result, reference)).isCloseTo(0.1, within(1e-15));
    assertThat(RELATIVE.error(reference, reference)).isZero();
  }

  @Test
  void unexpectedNonFiniteValuesHaveInfiniteErrors() {
    for (var tolerance : new Tolerance[] {RELATIVE, MAXIMUM}) {
      assertThat(tolerance.error(new double[] {Double.NaN}, new double[] {1})).isInfinite();
      assertThat(tolerance.error(new double[] {1}, new double[] {Double.NaN})).isInfinite();
      assertThat(tolerance.error(new double[] {Double.POSITIVE_INFINITY}, new double[] {1}))
          .isInfinite();
      assertThat(
              tolerance.error(
                  new double[] {Double.NEGATIVE_INFINITY}, new double[] {Double.POSITIVE_INFINITY}))
          .isInfinite();
    }
  }

  @Test
  void expectedNonFiniteValuesHaveNoError() {
    double[] both = {Double.NaN, Double.POSITIVE_INFINITY, 1};
    assertThat(RELATIVE.error(both.clone(), both)).isZero();
    assertThat(MAXIMUM.error(both.clone(), both)).isZero();
  }

  @Test
  void differencesFromZeroHaveLargeErrors() {
    assertThat(RELATIVE.error(new double[] {1e-3}, new double[] {0})).isGreaterThan(1e10);
  }
}
