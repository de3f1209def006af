package dev.athanor.engine.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.athanor.engine.analysis.Ceilings.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rates per cycle match the dense peaks of data sheets, in 10^12 operations per second. */
class CeilingsTest {

  @ParameterizedTest
  @CsvSource({
    "H100, 1.83, F16, 989.4",
    "H100, 1.83, BF16, 989.4",
    "H100, 1.83, TF32, 494.7",
    "H100, 1.83, FP8, 1978.9",
    "H100, 1.83, INT8, 1978.9",
    "H100, 1.98, F64, 66.9",
    "H200, 1.83, F16, 989.4",
    "A100, 1.41, F16, 312",
    "A100, 1.41, TF32, 156",
    "A100, 1.41, INT8, 624",
    "A100, 1.41, F64, 19.5",
    "RTX 4090, 2.52, F16, 165.2",
    "RTX 4090, 2.52, F16_IN_F16, 330.3",
    "RTX 4090, 2.52, TF32, 82.6",
    "RTX 4090, 2.52, FP8, 330.3",
    "RTX 4090, 2.52, INT8, 660.6",
    "L4, 2.04, F16, 121",
    "L4, 2.04, TF32, 60",
    "L4, 2.04, FP8, 242.5",
    "RTX 5090, 2.407, F16, 209.5",
    "RTX 5090, 2.407, F16_IN_F16, 419",
    "RTX 5090, 2.407, TF32, 104.8",
    "RTX 5090, 2.407, FP8, 419",
    "RTX 5090, 2.407, INT8, 838",
    "V100, 1.53, F16, 125",
    "T4, 1.59, F16, 65",
    "T4, 1.59, INT8, 130",
    "RTX 2080 Ti, 1.545, F16, 53.8",
    "RTX 2080 Ti, 1.545, F16_IN_F16, 107.6",
    "A10, 1.695, BF16, 125",
    "A10, 1.695, INT8, 250",
    "RTX 3090, 1.695, F16, 71",
    "RTX 3090, 1.695, TF32, 35.6",
    "RTX 6000 Ada, 2.505, F16, 364.2",
    "RTX 6000 Ada, 2.505, FP8, 728.5",
    "B200, 1.85, BF16, 2250",
    "B200, 1.85, FP8, 4500"
  })
  void tensorCoreRatesMatchDataSheets(String name, double gigahertz, Tensor type, double peak) {
    var gpu = Gpu.named(name).orElseThrow();
    var ceilings = gpu.ceilings();
    double rate = ceilings.tensorRate(type, gpu.multiprocessors());
    assertThat(rate / ceilings.clock() * gigahertz * 1e9 / 1e12)
        .isCloseTo(peak, within(0.015 * peak));
  }

  @ParameterizedTest
  @CsvSource({
    "H100, 66.9, 133.8, 33.5",
    "A100, 19.5, 78, 9.7",
    "RTX 4090, 82.6, 82.6, 1.29",
    "L4, 30.3, 30.3, 0.47",
    "RTX 5090, 104.8, 104.8, 1.64",
    "V100, 15.7, 31.4, 7.8",
    "T4, 8.1, 16.3, 0.25",
    "RTX 2080 Ti, 13.45, 26.9, 0.42",
    "A10, 31.2, 31.2, 0.49",
    "RTX 3090, 35.6, 35.6, 0.56",
    "RTX 6000 Ada, 91.1, 91.1, 1.42"
  })
  void coreRatesMatchDataSheets(String name, double f32, double f16, double f64) {
    var gpu = Gpu.named(name).orElseThrow();
    var ceilings = gpu.ceilings();
    double lane = 2 * gpu.multiprocessors() * ceilings.clock() / 1e12;
    assertThat(lane * ceilings.f32()).isCloseTo(f32, within(0.01 * f32));
    assertThat(lane * ceilings.f16()).isCloseTo(f16, within(0.01 * f16));
    assertThat(lane * ceilings.f64()).isCloseTo(f64, within(0.02 * f64));
  }

  @Test
  void findsGpusByNameVariants() {
    assertThat(Gpu.named("rtx4090")).contains(Gpu.RTX_4090);
    assertThat(Gpu.named("h200")).contains(Gpu.H200);
    assertThat(Gpu.named("P100")).isEmpty();
    assertThat(Gpu.A100.ceilings().tensorRate(Tensor.FP8, 108)).isZero();
  }

  @Test
  void sustainedBandwidthIsBelowTheDataSheet() {
    for (var gpu : Gpu.ALL) {
      var dram = gpu.ceilings().dram();
      assertThat(dram.sustained() / dram.peak()).as(gpu.name()).isBetween(0.85, 0.95);
      assertThat(dram.latency()).as(gpu.name()).isBetween(300e-9, 1e-6);
    }
    assertThat(Gpu.H200.ceilings().dram().sustained()).isEqualTo(4.3e12);
    assertThat(Gpu.H200.ceilings().dram().measured()).isTrue();
    assertThat(Gpu.L4.ceilings().dram().measured()).isFalse();
  }

  /** Hopper has no mma of fp8: its products are of f16. */
  @Test
  void mmaSyncOfHopperIsBelowThePeak() {
    var hopper = Gpu.H100.ceilings();
    assertThat(hopper.mmaRate(Tensor.F16, 132) / hopper.tensorRate(Tensor.F16, 132))
        .isCloseTo(0.62, within(0.001));
    assertThat(hopper.mmaRate(Tensor.FP8, 132)).isEqualTo(hopper.mmaRate(Tensor.F16, 132));
    assertThat(hopper.mmaRate(Tensor.F64, 132)).isEqualTo(hopper.tensorRate(Tensor.F64, 132));
    assertThat(Gpu.H100.hasFp8Mma()).isFalse();
    var ada = Gpu.L4.ceilings();
    assertThat(ada.mmaRate(Tensor.FP8, 58)).isEqualTo(ada.tensorRate(Tensor.FP8, 58));
    assertThat(Gpu.L4.hasFp8Mma()).isTrue();
    assertThat(Gpu.RTX_5090.hasFp8Mma()).isTrue();
  }
}
