package dev.athanor.ops.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UnitsTest {

  @ParameterizedTest
  @CsvSource({
    "0, 0 µs",
    "0.25, 0.2500 µs",
    "41.9, 41.90 µs",
    "999.94, 999.9 µs",
    "999.96, 1.000 ms",
    "137832.6, 137.8 ms",
    "999949, 999.9 ms",
    "999951, 1.000 s",
    "1.2e9, 1200 s"
  })
  void formatsTimesWithASuitableUnit(double micros, String text) {
    assertThat(Units.time(micros)).isEqualTo(text);
  }

  @Test
  void formatsSizesWithASuitableUnit() {
    assertThat(Units.memory(0)).isEqualTo("0 B");
    assertThat(Units.memory(1023)).isEqualTo("1023 B");
    assertThat(Units.memory(1 << 25)).isEqualTo("32.00 MiB");
    assertThat(Units.memory(149_535_326_208L)).isEqualTo("139.3 GiB");
  }

  @Test
  void formatsRatesWithASuitableUnit() {
    assertThat(Units.flops(4.7e9)).isEqualTo("4.700 GFLOP/s");
    assertThat(Units.flops(999_996)).isEqualTo("1.000 MFLOP/s");
    assertThat(Units.flops(989.4e12)).isEqualTo("989.4 TFLOP/s");
    assertThat(Units.bytes(172e3)).isEqualTo("172.0 kB/s");
    assertThat(Units.bytes(4.1e12)).isEqualTo("4.100 TB/s");
  }
}
