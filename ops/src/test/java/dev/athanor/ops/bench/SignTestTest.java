package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SignTestTest {

  /** The critical values are those of tables of the binomial distribution. */
  @ParameterizedTest
  @CsvSource({
    "6, 6, false",
    "7, 7, true",
    "6, 7, false",
    "9, 10, false",
    "10, 10, true",
    "15, 20, false",
    "16, 20, true",
    "62, 100, false",
    "63, 100, true",
    "0, 20, false"
  })
  void isSignificantAtOnePercent(int wins, int pairs, boolean significant) {
    assertThat(SignTest.isSignificant(wins, pairs)).isEqualTo(significant);
  }
}
